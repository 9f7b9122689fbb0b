"""What Module does beyond PyTorch: errors of properties, tolerant loading, ties; and lazy parameters."""

import copy
import gc
import inspect
import pickle
import sys
import weakref

import pytest

import rushlight as torch
from rushlight import nn


def causes(error):
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__
    return texts


# ---- properties that fail inside ----
class Props(nn.Module):
    @property
    def p(self):
        return self.inner.x

    @property
    def deep(self):
        return self.p

    @property
    def other(self):
        raise ValueError("no AttributeError")


class PropsUser(Props):
    def __getattr__(self, name):
        return super().__getattr__(name)


class PropsAnswering(Props):
    def __getattr__(self, name):
        return "answered" if name == "p" else super().__getattr__(name)


def refused(m, attribute):
    with pytest.raises(AttributeError) as caught:
        getattr(m, attribute)
    return caught.value


@pytest.mark.parametrize("cls", [Props, PropsUser])
def test_property_names_the_real_error(cls):
    m, name = cls(), cls.__name__
    missing = f"'{name}' object has no attribute "
    inside, deep, nothing = (refused(m, attribute) for attribute in ("p", "deep", "nothing"))
    assert [str(error) for error in (inside, deep, nothing)] == [
        missing + "'p'",
        missing + "'deep'",
        missing + "'nothing'",
    ]
    if sys.version_info < (3, 12):
        assert causes(inside) == [missing + "'p'", missing + "'inner'"]
        assert causes(deep)[:2] == [missing + "'deep'", missing + "'p'"]
    else:  # Python has dropped what was raised inside
        assert [error.__notes__[0].split(":")[0] for error in (inside, deep)] == [
            "'p' is a property of the class",
            "'deep' is a property of the class",
        ]
        assert len(inside.__notes__) == len(deep.__notes__) == 1
    assert causes(nothing) == [missing + "'nothing'"] and not hasattr(nothing, "__notes__")
    with pytest.raises(ValueError, match="no AttributeError"):
        _ = m.other
    assert not hasattr(m, "p") and getattr(m, "p", 3) == 3


class PropsCounting(nn.Module):
    def __init__(self):
        super().__init__()
        self.runs = []

    @property
    def p(self):
        self.runs.append("p")
        raise AttributeError("inside")


class PropsCountingUser(PropsCounting):
    def __getattr__(self, name):
        return super().__getattr__(name)


@pytest.mark.parametrize("cls", [PropsCounting, PropsCountingUser])
def test_failing_property_runs_once(cls):
    m = cls()
    for look in (lambda: refused(m, "p"), lambda: refused(m, "p"), lambda: hasattr(m, "p")):
        m.runs.clear()
        look()
        assert m.runs == ["p"]
    m.runs.clear()
    with pytest.raises(AttributeError) as caught:
        m.__getattr__("p")
    assert str(caught.value) == f"'{cls.__name__}' object has no attribute 'p'" and m.runs == []


def test_property_that_a_user_answers_for():
    m = PropsAnswering()
    assert m.p == m.deep == "answered"


def test_registered_name_behind_a_failing_property():
    m = Props()
    m._modules["p"] = nn.ReLU()
    assert isinstance(m.p, nn.ReLU)


def test_errors_of_properties_hold_nothing():
    m = Props()
    seen = weakref.ref(m)
    for _ in range(3):
        assert getattr(m, "p", None) is None
    del m
    gc.collect()
    assert seen() is None


# ---- load_state_dict(mismatched="report") ----
def two_layers():
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))


def test_mismatches_as_a_report():
    m = two_layers()
    kept = m[1].weight.detach().clone()
    state = two_layers().state_dict()
    state["1.weight"] = torch.zeros(5, 5)
    state["x"] = state.pop("0.bias")
    result = m.load_state_dict(state, strict=False, mismatched="report")
    missing, unexpected = result
    assert (missing, unexpected) == (["0.bias"], ["x"]) == (result.missing_keys, result.unexpected_keys)
    assert result.mismatched_keys == [("1.weight", torch.Size([5, 5]), torch.Size([2, 3]))]
    assert (
        repr(result)
        == str(result)
        == (
            "IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['x'], "
            "mismatched_keys=[('1.weight', torch.Size([5, 5]), torch.Size([2, 3]))])"
        )
    )
    assert torch.equal(m[1].weight, kept) and torch.equal(m[0].weight, state["0.weight"])
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert twin == result and twin.mismatched_keys == result.mismatched_keys


def test_report_of_a_good_load():
    m = two_layers()
    for kind in ("raise", "report"):
        result = m.load_state_dict(m.state_dict(), mismatched=kind)
        assert repr(result) == "<All keys matched successfully>"
        assert list(result.mismatched_keys) == []


def test_report_is_for_sizes_only():
    m, state = two_layers(), two_layers().state_dict()
    state["1.weight"] = torch.zeros(5, 5)
    with pytest.raises(RuntimeError, match="size mismatch for 1.weight"):
        m.load_state_dict(state, strict=False)
    del state["0.bias"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0.bias"') as caught:
        m.load_state_dict(state, mismatched="report")
    assert "size mismatch" not in str(caught.value)
    with pytest.raises(ValueError, match="mismatched should be 'raise' or 'report', got 'x'"):
        m.load_state_dict(state, mismatched="x")
    with pytest.raises(TypeError, match="takes from 2 to 4 positional arguments but 5 were given"):
        m.load_state_dict(state, True, False, "report")


def test_report_passes_overridden_methods():
    class Own(nn.Linear):
        def _load_from_state_dict(self, *args):
            super()._load_from_state_dict(*args)

    m = nn.Sequential(Own(2, 2), nn.Sequential(Own(2, 2)))
    state = m.state_dict()
    state["1.0.bias"] = torch.zeros(9)
    result = m.load_state_dict(state, mismatched="report")
    assert result.mismatched_keys == [("1.0.bias", torch.Size([9]), torch.Size([2]))]


def test_loads_within_loads_do_not_mix():
    inner, bad = nn.Linear(2, 2), {"weight": torch.zeros(1), "bias": torch.zeros(2)}
    errors = []

    def hook(*args):
        try:
            inner.load_state_dict(bad)
        except RuntimeError as error:
            errors.append(str(error))

    m = nn.Linear(2, 2)
    m._register_load_state_dict_pre_hook(hook)
    state = {"weight": torch.zeros(2, 2), "bias": torch.zeros(3)}
    result = m.load_state_dict(state, mismatched="report")
    assert [entry[0] for entry in result.mismatched_keys] == ["bias"]
    assert len(errors) == 1 and "size mismatch for weight" in errors[0]


# ---- load_state_dict(assign=True) and ties ----
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(2, 3, bias=False)
        self.decode = nn.Linear(2, 3, bias=False)
        self.decode.weight = self.encode.weight
        self.free = nn.Linear(2, 3, bias=False)


def separate(state):
    return {key: value.clone() for key, value in state.items()}


def test_assign_keeps_ties():
    for state in (Tied().state_dict(), separate(Tied().state_dict())):
        m = Tied()
        assert repr(m.load_state_dict(state, assign=True)) == "<All keys matched successfully>"
        assert m.encode.weight is m.decode.weight and m.free.weight is not m.encode.weight
        assert len(list(m.parameters())) == 2
        assert m.encode.weight.untyped_storage()._cdata == state["encode.weight"].untyped_storage()._cdata


def test_assign_of_other_values_unties():
    m, state = Tied(), separate(Tied().state_dict())
    state["decode.weight"] += 1
    m.load_state_dict(state, assign=True)
    assert torch.equal(m.encode.weight, state["encode.weight"])
    assert torch.equal(m.decode.weight, state["decode.weight"])


@pytest.mark.parametrize("given", ["encode", "decode"])
def test_assign_of_one_name_reaches_the_other(given):
    m = Tied()
    state = {f"{given}.weight": torch.ones(3, 2), "free.weight": torch.zeros(3, 2)}
    result = m.load_state_dict(state, strict=False, assign=True)
    assert len(result.missing_keys) == 1
    assert m.encode.weight is m.decode.weight and torch.equal(m.encode.weight, torch.ones(3, 2))


def test_assign_of_a_module_that_stands_twice():
    m = nn.Sequential(nn.Linear(2, 2))
    m.append(m[0])
    m.load_state_dict(m.state_dict(), assign=True)
    assert m[0] is m[1] and len(list(m.parameters())) == 2


# ---- devices that are not here ----
def test_devices_that_are_not_here():
    m = nn.Linear(1, 1)
    for device, error, text in (
        ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
        ("mps", RuntimeError, "PyTorch is not linked with support for mps devices"),
    ):
        with pytest.raises(error, match=text):
            m.to(device)
    for method, error, text in (
        (m.xpu, AssertionError, "Torch not compiled with XPU enabled"),
        (m.ipu, RuntimeError, "PyTorch is not linked with support for ipu devices"),
        (m.mtia, AssertionError, "Torch not compiled with MTIA enabled. Ensure you have `import mtia."),
    ):
        with pytest.raises(error, match=text):
            method()
    assert nn.ReLU().xpu().mtia().ipu()(torch.ones(1)) == 1


# ---- lazy parameters ----
def test_lazy_parameter_becomes_a_parameter():
    p = nn.UninitializedParameter(dtype=torch.float64)
    assert repr(p) == "<UninitializedParameter>" and nn.parameter.is_lazy(p)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in <method 'add' of"):
        p + 1
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = p.shape
    p.materialize((2, 3))
    assert type(p) is nn.Parameter and p.shape == (2, 3) and p.dtype == torch.float64 and p.requires_grad
    assert not nn.parameter.is_lazy(p)


def test_lazy_buffer_becomes_a_tensor():
    b = nn.UninitializedBuffer(persistent=False)
    m = nn.Module()
    m.b = b
    assert m._non_persistent_buffers_set == {"b"} and isinstance(b, nn.Buffer)
    twin = copy.deepcopy(m)
    assert nn.parameter.is_lazy(twin.b) and twin.b is not b
    m.double()
    assert repr(m.b) == "<UninitializedBuffer>" and isinstance(m.b, nn.Buffer)
    m.b.materialize((4,))
    assert type(m.b) is torch.Tensor and m.b.dtype == torch.float64 and m.b.shape == (4,)


def test_lazy_modules_leave_nothing_behind():
    m = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(1, bias=False))
    twin = copy.deepcopy(m)
    m(torch.ones(4, 5))
    assert [type(each).__name__ for each in m] == ["Linear", "BatchNorm1d", "Linear"]
    assert not any(each._forward_pre_hooks or each._load_state_dict_pre_hooks for each in m)
    assert twin.load_state_dict(m.state_dict()).missing_keys == []
    m.eval(), twin.eval()
    assert torch.equal(m(torch.ones(2, 5)), twin(torch.ones(2, 5)))


def test_lazy_initialisation_draws_the_same_numbers():
    torch.manual_seed(0)
    eager = nn.Linear(5, 3)
    torch.manual_seed(0)
    lazy = nn.LazyLinear(3)
    lazy(torch.ones(1, 5))
    assert torch.equal(lazy.weight, eager.weight) and torch.equal(lazy.bias, eager.bias)


def test_methods_look_like_functions():
    layer = nn.Linear(1, 1)
    assert str(layer.modules) == f"<bound method Module.modules of {layer}>"
    assert layer.modules.__func__ is nn.Linear.modules is nn.Module.modules
    assert layer.train.__name__ == "train" and "training" in inspect.getdoc(nn.Module.train)
    assert str(inspect.signature(layer.train)) == "(mode=True)"
    assert repr(nn.Module.train).startswith("<function Module.train at ")
    assert pickle.loads(pickle.dumps(nn.ReLU().eval))().training is False
    with pytest.raises(TypeError, match="'train' for 'Module' objects doesn't apply to a 'int' object"):
        nn.Module.train(3)


def test_isinstance_sees_the_mark_of_parameters():
    class Own(nn.Parameter):
        pass

    marked = torch.zeros(1)
    assert not isinstance(marked, nn.Parameter)
    marked._is_param = True
    assert isinstance(marked, nn.Parameter) and not isinstance(marked, Own)
    assert isinstance(Own(marked), Own) and isinstance(Own(marked), nn.Parameter)
    assert not isinstance(3, nn.Parameter) and issubclass(Own, nn.Parameter)
    m = nn.Module()
    m.w = marked
    assert list(m._parameters) == ["w"]
