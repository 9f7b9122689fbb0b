"""Smaller modules of torch.utils and torch._utils: weak keys, decorators, devices, dispatch, states."""

import copy
import gc
import importlib

import pytest

import rushlight as torch
from rushlight import _subclasses, _utils, overrides
from rushlight.utils import _contextlib, _device, _python_dispatch, checkpoint
from rushlight.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


# ---- weak ----
def test_references_to_the_same_object_are_equal():
    x, y = torch.ones(2), torch.ones(2)
    assert WeakIdRef(x) == WeakIdRef(x) != WeakIdRef(y) and hash(WeakIdRef(x)) == id(x)
    first, second = WeakIdRef(x), WeakIdRef(x)
    del x
    assert first() is None and first == first and first != second
    reference = TensorWeakRef(y)
    assert reference() is y
    del y
    assert reference() is None
    with pytest.raises(AssertionError, match="^expected torch.Tensor, got <class 'int'>.$"):
        TensorWeakRef(3)


def test_entries_go_with_their_keys():
    x, y = torch.ones(2), torch.ones(2)
    d = WeakTensorKeyDictionary({x: 1})
    d[y] = 2
    assert d[x] == 1 and d.get(y) == 2 and d.get(torch.ones(2)) is None and len(d) == 2
    assert x in d and torch.ones(2) not in d and 3 not in d
    for _, value in d.items():
        d[torch.zeros(1)] = value  # it may change meanwhile
    del _, value
    assert list(d.values()) == [1, 2] and [k is x for k in d] == [True, False]
    del x
    gc.collect()
    assert len(d) == 1 and [k is y for k in d] == [True] and len(d.keyrefs()) == 1
    with pytest.raises(KeyError):
        d[torch.ones(1)]


def test_weak_mappings_are_mappings():
    x, y, z = (torch.ones(1) for _ in range(3))
    d = WeakIdKeyDictionary([(x, [1]), (y, [2])])
    assert copy.copy(d) == d
    deep = copy.deepcopy(d)
    assert deep == d and deep[x] is not d[x]
    d |= WeakIdKeyDictionary({z: [3]})
    assert (d | deep)[z] == [3] and len(d | deep) == 3 and d != deep
    assert d.setdefault(x, 0) == [1] and d.pop(z) == [3] and d.pop(z, None) is None
    del d[x]
    key, value = d.popitem()
    assert key is y and value == [2] and not d


# ---- decorators ----
def test_functions_and_generators_within_a_context():
    log = []

    class Context:
        def __enter__(self):
            log.append("in")

        def __exit__(self, *error):
            log.append("out")

    def plain(x):
        "Add one."
        log.append("run")
        return x + 1

    function = _contextlib.context_decorator(lambda: Context(), plain)
    assert function(1) == 2 and log == ["in", "run", "out"] and function.__doc__ == "Add one."

    def numbers():
        log.append((yield 1))

    log.clear()
    generator = _contextlib.context_decorator(Context(), numbers)()
    assert next(generator) == 1 and log == ["in", "out"]
    with pytest.raises(StopIteration):
        generator.send("sent")
    assert log == ["in", "out", "in", "sent", "out"]
    with pytest.raises(RuntimeError, match="^Cannot decorate classes; it is ambiguous whether or not only"):
        _contextlib.context_decorator(lambda: Context(), int)
    with pytest.raises(AssertionError, match="is both callable and also a valid context manager"):
        _contextlib.context_decorator(torch.no_grad(), len)


def test_contexts_of_ones_own_decorate():
    class half(_contextlib._DecoratorContextManager):
        def __init__(self, seen):
            self.seen = seen

        def __enter__(self):
            self.seen.append(1)

        def __exit__(self, *error):
            self.seen.append(2)

        def clone(self):
            return half(self.seen)

    seen = []
    assert half(seen)(lambda: 3)() == 3 and seen == [1, 2]
    assert isinstance(torch.no_grad(), _contextlib._DecoratorContextManager)
    with pytest.raises(NotImplementedError):
        _contextlib._NoParamDecoratorContextManager().__enter__()


def test_the_device_of_new_tensors():
    @_device.set_device("meta")
    def make():
        return torch.ones(2), _device.CURRENT_DEVICE

    tensor, device = make()
    assert tensor.device.type == "meta" == device.type and _device.CURRENT_DEVICE is None
    with _device.DeviceContext("meta") as mode:
        assert torch.zeros(1).is_meta and isinstance(mode, overrides.TorchFunctionMode)
    assert torch.zeros(1).device.type == "cpu"


# ---- dispatch ----
def test_modes_of_dispatch_cannot_be_entered():
    class Mode(_python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(NotImplementedError, match="TorchDispatchMode: use torch.overrides.TorchFunctionMode"):
        with Mode():
            raise AssertionError("it was entered")
    assert _python_dispatch._get_current_dispatch_mode() is None
    assert _python_dispatch._get_current_dispatch_mode_stack() == []
    assert not _python_dispatch.is_in_torch_dispatch_mode()
    with _python_dispatch._disable_current_modes() as modes:
        assert modes == []
    for name in ("FakeTensor", "FakeTensorMode"):
        with pytest.raises(NotImplementedError, match="meta"):
            getattr(_subclasses, name)()
    assert not isinstance(torch.ones(1), _subclasses.fake_tensor.FakeTensor)
    importlib.import_module("rushlight._subclasses.functional_tensor")


def test_subclasses_that_hold_tensors():
    class Pair(torch.Tensor):
        @staticmethod
        def __new__(cls, a, b):
            self = torch.empty(a.shape, device="meta").as_subclass(cls)
            self.a, self.b = a, b
            return self

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Pair(inner["a"], inner["b"])

    pair = Pair(torch.ones(2), torch.zeros(2))
    assert _python_dispatch.is_traceable_wrapper_subclass(pair)
    assert not _python_dispatch.is_traceable_wrapper_subclass(torch.ones(2))
    assert not _python_dispatch.is_traceable_wrapper_subclass(3)
    assert not _python_dispatch.is_traceable_wrapper_subclass_type(torch.nn.Parameter)
    made = _python_dispatch.transform_subclass(pair, lambda name, t: t + (name == "b"))
    assert type(made) is Pair and made.a.tolist() == made.b.tolist() == [1, 1]
    with pytest.raises(AssertionError, match="to have shape equal to"):
        _python_dispatch.transform_subclass(pair, lambda name, t: t, (3,))


# ---- torch._utils ----
def test_tensors_as_one_buffer():
    tensors = [torch.arange(4.0).view(2, 2).t(), torch.ones(0, 3), torch.tensor(7.0)]
    flat = _utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 2, 1, 3, 7]
    back = _utils._unflatten_dense_tensors(flat, tensors)
    assert isinstance(back, tuple) and all(torch.equal(a, b) for a, b in zip(back, tensors))
    back[0].zero_()
    assert flat.tolist() == [0, 0, 0, 0, 7]
    assert _utils._flatten_dense_tensors(tensors[2:]).shape == (1,)


def test_groups_of_tensors():
    a = [torch.zeros(n) for n in (2, 2, 5, 1)]
    b = [torch.zeros(3, dtype=torch.int64)]
    groups = list(_utils._take_tensors([a[0], b[0], a[1], a[2], a[3]], 16))
    assert [[t.numel() for t in group] for group in groups] == [[2, 2], [5], [1], [3]]
    ordered = _utils._reorder_tensors_as([*a[:2], *b], [a[0], b[0], a[1]])
    assert [each is other for each, other in zip(ordered, (a[0], b[0], a[1]))] == [True] * 3


def test_devices_by_number():
    assert _utils._get_device_index("cpu", allow_cpu=True) == -1 and _utils._get_device_index(3) == 3
    assert (
        _utils._get_device_index(torch.device("cuda:1")) == 1
        and _utils._get_device_module("cpu") is torch.cpu
    )
    for device, text in (
        ("cpu", "Expected a non cpu device, but got: cpu"),
        (None, "Expected a torch.device with"),
    ):
        with pytest.raises(ValueError, match=text):
            _utils._get_device_index(device)
    with pytest.raises(RuntimeError, match="^Device 'nothing' does not have a corresponding module"):
        _utils._get_device_module("nothing")
    assert _utils._get_available_device_type() in (None, "cuda")


def test_other_helpers():
    class Holder:
        @_utils.classproperty
        def name(cls):
            return cls.__name__

    assert Holder.name == Holder().name == "Holder"
    assert _utils._element_size(torch.complex64) == 8 and _utils._element_size(torch.bool) == 1
    assert _utils._import_dotted_name("os.path.join") is __import__("os").path.join
    assert _utils.try_import("no_such_module") is None and _utils.try_import("math").pi > 3
    call = _utils.render_call(torch.add, (torch.ones(3), 2), {"alpha": 1})
    assert call == "torch.add(tensor([...], size=(3,)), 2, alpha=1)"
    with pytest.raises(RuntimeError, match="^Tried to instantiate dummy base class Gone$"):
        _utils._dummy_type("Gone")()
    with pytest.warns(UserWarning, match="is_compiling` is deprecated"):
        assert not _utils.is_compiling()
    with pytest.raises(AttributeError, match="^module 'rushlight._utils' has no attribute 'nothing'$"):
        _utils.nothing  # noqa: B018


# ---- utils.checkpoint ----
def test_states_of_devices():
    assert checkpoint.get_device_states(torch.ones(1), {"x": torch.ones(1, device="meta")}) == ([], [])
    checkpoint.set_device_states([], [])
    checkpoint.set_device_states([0], [torch.ones(1)], device_type="meta")
    assert checkpoint._infer_device_type(torch.ones(1, device="meta")) == "meta"
    on, cpu = checkpoint._get_autocast_kwargs()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert checkpoint._get_autocast_kwargs()[1] == cpu | {"enabled": True}


def test_a_group_of_backward_passes_computes_once():
    x, runs = torch.ones(2, requires_grad=True), []

    def part(x):
        runs.append(1)
        return x.exp(), x.sin()

    for group, expected in ((False, 3), (True, 2)):
        runs.clear()
        y, z = checkpoint.checkpoint(part, x, use_reentrant=False, early_stop=False)
        if group:
            with checkpoint.GraphExecGroup():
                with pytest.raises(RuntimeError, match="^GraphExecGroup contexts cannot be nested. Already"):
                    checkpoint.GraphExecGroup().__enter__()
                y.sum().backward()
                z.sum().backward()
        else:
            y.sum().backward()
            z.sum().backward()
        assert len(runs) == expected
    assert checkpoint.GraphExecGroup._get_current_group() is None


def test_selective_checkpoints_say_that_they_are_missing():
    with pytest.raises(TypeError, match="^policy_fn_or_list must be either a function or a list of ops.$"):
        checkpoint.create_selective_checkpoint_contexts(3)
    with pytest.raises(NotImplementedError, match="checkpoint.. without context_fn computes the same"):
        checkpoint.create_selective_checkpoint_contexts([])
    assert checkpoint.CheckpointPolicy(3) is checkpoint.CheckpointPolicy.PREFER_RECOMPUTE


# ---- torch.onnx, torch._C ----
def test_onnx_says_that_it_writes_no_files(tmp_path):
    with pytest.raises(NotImplementedError, match="^onnx.export: "):
        torch.onnx.export(torch.nn.Linear(1, 1), (torch.ones(1),), tmp_path / "x.onnx", opset_version=11)
    assert not list(tmp_path.iterdir())
    from rushlight.onnx import register_custom_op_symbolic, unregister_custom_op_symbolic

    register_custom_op_symbolic("mine::op", len, 11)
    assert torch.onnx._symbolics == {("mine::op", 11): len}
    unregister_custom_op_symbolic("mine::op", 11)
    unregister_custom_op_symbolic("mine::op", 11)
    assert not torch.onnx._symbolics and torch.onnx.symbolic_opset11


def test_names_of_the_extension_that_python_has():
    assert torch.DispatchKey is torch._C.DispatchKey
    with pytest.raises(AttributeError, match="^module 'rushlight._C' has no attribute 'nothing'$"):
        torch._C.nothing  # noqa: B018
    assert len({torch._C.DispatchKeySet(torch.DispatchKey.CPU)}) == 1


def test_objects_answer_an_assertion_themselves():
    class Proxy:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args[1]

    assert torch._assert(Proxy(), "m") == ("_assert", "m")
