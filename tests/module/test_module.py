"""Module: state, attributes, registration, iteration, walks, repr, leaks."""

import copy
import gc
import sys
import warnings
from collections import OrderedDict

import pytest

import rushlight as torch
from helpers.modules import Failing, Leaf, Tree
from rushlight import nn
from rushlight.nn.modules import module as module_file

STATE = [
    "training",
    "_parameters",
    "_buffers",
    "_non_persistent_buffers_set",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_is_full_backward_hook",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
    "_modules",
]


# ---- state ----
def test_state_lies_in_the_dict_under_torchs_names_and_order():
    m = nn.Module()
    assert list(m.__dict__) == STATE
    assert type(m._parameters) is type(m._buffers) is type(m._modules) is dict
    assert type(m._forward_hooks) is type(m._load_state_dict_post_hooks) is OrderedDict
    assert type(m._non_persistent_buffers_set) is set
    assert m.training is True
    assert m._is_full_backward_hook is None
    assert type(nn.Module) is type
    assert nn.Module.__module__ == "rushlight.nn.modules.module"


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {"x": 1}, "Leaf2.__init__() got an unexpected keyword argument 'x'"),
        ((1, 2), {}, "Leaf2.__init__() takes 1 positional argument but 3 were given"),
    ],
)
def test_init_refuses_arguments(args, kwargs, text):
    class Leaf2(nn.Module):
        pass

    with pytest.raises(TypeError) as error:
        Leaf2(*args, **kwargs)
    assert str(error.value) == text


def test_call_super_init_hands_arguments_on():
    class Base:
        def __init__(self, value):
            self.value = value

    class Both(nn.Module, Base):
        call_super_init = True

    assert Both(3).value == 3
    assert list(Both(3).__dict__) == [*STATE, "value"]


# ---- attributes ----
def test_reading_finds_parameters_buffers_and_modules():
    tree = Tree()
    assert tree.a.weight is tree.a._parameters["weight"]
    assert tree.a.mean is tree.a._buffers["mean"]
    assert tree.inner is tree._modules["inner"]
    assert tree.a.bias is None
    with pytest.raises(AttributeError, match="^'Tree' object has no attribute 'foo'$"):
        tree.foo  # noqa: B018


def test_assigning_moves_a_name_between_kinds():
    m = nn.Module()
    m.x = 1
    assert m.__dict__["x"] == 1
    m.x = p = nn.Parameter(torch.zeros(1))
    assert "x" not in m.__dict__
    assert m._parameters == {"x": p}
    with pytest.raises(TypeError):
        m.x = nn.Module()
    del m.x
    m.x = child = nn.Module()
    assert m._modules == {"x": child}
    m.x = None
    assert m._modules == {"x": None}
    m.x = p
    assert m._modules == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("weight", "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)"),
        ("bias", "cannot assign 'int' as parameter 'bias' (torch.nn.Parameter or None expected)"),
        ("mean", "cannot assign 'int' as buffer 'mean' (torch.nn.Buffer, torch.Tensor or None expected)"),
        ("child", "cannot assign 'int' as child module 'child' (torch.nn.Module or None expected)"),
    ],
)
def test_assigning_the_wrong_kind(name, text):
    m = Leaf()
    m.child = nn.Module()
    with pytest.raises(TypeError) as error:
        setattr(m, name, 3)
    assert str(error.value) == text


def test_assigning_a_tensor_to_a_parameter_names_its_type():
    m = Leaf()
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' as parameter 'weight'"):
        m.weight = torch.zeros(2, 3)


def test_assigning_to_a_buffer_keeps_its_persistence():
    m = Leaf()
    m.scratch = torch.ones(2)
    m.mean = None
    assert m._non_persistent_buffers_set == {"scratch"}
    assert m._buffers["mean"] is None
    assert m.scratch.tolist() == [1.0, 1.0]


def test_deleting():
    m = Leaf()
    m.child = nn.Module()
    m.plain = 1
    for name in ("weight", "scratch", "child", "plain"):
        delattr(m, name)
        assert not hasattr(m, name)
    assert m._non_persistent_buffers_set == set()
    with pytest.raises(AttributeError):
        del m.nothing


def test_dir_lists_everything_but_numbers():
    tree = Tree()
    names = dir(tree)
    assert {"a", "inner", "training", "forward"} <= set(names)
    assert names == sorted(names)
    assert "0" not in dir(tree.inner)


# ---- registration ----
@pytest.mark.parametrize(
    ("method", "args", "error", "text"),
    [
        ("register_buffer", ("a.b", None), KeyError, 'buffer name can\'t contain "."'),
        ("register_buffer", ("", None), KeyError, 'buffer name can\'t be empty string ""'),
        ("register_buffer", (3, None), TypeError, "buffer name should be a string. Got int"),
        ("register_buffer", ("weight", None), KeyError, "attribute 'weight' already exists"),
        ("register_buffer", ("forward", None), KeyError, "attribute 'forward' already exists"),
        (
            "register_buffer",
            ("x", 3),
            TypeError,
            "cannot assign 'int' object to buffer 'x' (torch Tensor or None required)",
        ),
        ("register_parameter", ("a.b", None), KeyError, 'parameter name can\'t contain "."'),
        ("register_parameter", ("", None), KeyError, 'parameter name can\'t be empty string ""'),
        ("register_parameter", (b"x", None), TypeError, "parameter name should be a string. Got bytes"),
        ("register_parameter", ("mean", None), KeyError, "attribute 'mean' already exists"),
        (
            "register_parameter",
            ("x", 3),
            TypeError,
            "cannot assign 'int' object to parameter 'x' (torch.nn.Parameter or None required)",
        ),
        ("add_module", ("a.b", None), KeyError, 'module name can\'t contain ".", got: a.b'),
        ("add_module", ("", None), KeyError, 'module name can\'t be empty string ""'),
        ("add_module", (3, None), TypeError, "module name should be a string. Got int"),
        ("add_module", ("x", 3), TypeError, "int is not a Module subclass"),
        ("add_module", ("training", None), KeyError, "attribute 'training' already exists"),
        ("register_module", ("x", "y"), TypeError, "str is not a Module subclass"),
    ],
)
def test_registration_errors(method, args, error, text):
    with pytest.raises(error) as caught:
        getattr(Leaf(), method)(*args)
    assert caught.value.args[0] == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda m: m.register_buffer(),
            "Module.register_buffer() missing 2 required positional arguments: 'name' and 'tensor'",
        ),
        (
            lambda m: m.add_module("x"),
            "Module.add_module() missing 1 required positional argument: 'module'",
        ),
        (
            lambda m: m.train(True, 1),
            "Module.train() takes from 1 to 2 positional arguments but 3 were given",
        ),
        (lambda m: m.train(mod=1), "Module.train() got an unexpected keyword argument 'mod'"),
        (
            lambda m: m.register_buffer("x", None, name="y"),
            "Module.register_buffer() got multiple values for argument 'name'",
        ),
        (lambda m: m.apply(1, 2), "Module.apply() takes 2 positional arguments but 3 were given"),
    ],
)
def test_arguments_are_bound_as_python_does(call, text):
    with pytest.raises(TypeError) as error:
        call(nn.Module())
    assert str(error.value) == text


def test_registration_hooks_may_replace_the_value():
    other = nn.Parameter(torch.ones(1))
    seen = []

    def on_parameter(module, name, value):
        seen.append(name)
        return other

    handles = [
        module_file.register_module_parameter_registration_hook(on_parameter),
        module_file.register_module_module_registration_hook(lambda m, n, c: seen.append(n)),
        module_file.register_module_buffer_registration_hook(lambda m, n, b: seen.append(n)),
    ]
    try:
        m = nn.Module()
        m.w = nn.Parameter(torch.zeros(1))
        m.child = nn.Module()
        m.child = None
        m.register_buffer("buffer", None)
    finally:
        for handle in handles:
            handle.remove()
    assert m.w is other
    assert seen == ["w", "child", "child", "buffer"]


# ---- repr ----
def test_repr():
    class Named(nn.Module):
        def extra_repr(self):
            return "n=1"

    class Lines(nn.Module):
        def extra_repr(self):
            return "n=1\nm=2"

    m = nn.Sequential(OrderedDict(a=Named(), b=nn.Sequential(Lines()), c=nn.ModuleList([Named(), Named()])))
    assert repr(m) == (
        "Sequential(\n"
        "  (a): Named(n=1)\n"
        "  (b): Sequential(\n"
        "    (0): Lines(\n"
        "      n=1\n"
        "      m=2\n"
        "    )\n"
        "  )\n"
        "  (c): ModuleList(\n"
        "    (0-1): 2 x Named(n=1)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert repr(nn.Module()) == "Module()"


# ---- leaks ----
def use_everything():
    m = Tree()
    m.a.register_forward_pre_hook(lambda mod, args: args)
    m.a.register_forward_hook(lambda mod, args, out: out, always_call=True)
    m.a.register_forward_hook(lambda mod, args, kwargs, out: out, with_kwargs=True)
    m(1)
    m.load_state_dict(m.state_dict())
    m.eval().train()
    list(m.named_parameters())
    next(m.modules())
    for wrong in (
        lambda: m.nothing,
        lambda: setattr(m, "a", 3),
        lambda: m.load_state_dict({"x": 1}),
        lambda: m.register_buffer("a.b", None),
        lambda: Failing()(1),
        lambda: m.train(3),
    ):
        with pytest.raises((AttributeError, TypeError, RuntimeError, KeyError, ValueError)):
            wrong()
    del m.a.weight
    m.a.weight = nn.Parameter(torch.zeros(2))
    copy.copy(m)


def test_nothing_leaks():
    use_everything()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            use_everything()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(30):
            use_everything()
        gc.collect()
        after = len(gc.get_objects())
    assert after - before < 30


def test_reference_counts_stay():
    m, value = Leaf(), nn.Parameter(torch.zeros(1))
    name = "some_name_of_its_own"
    setattr(m, name, value)
    counted = (m, value, nn.Module, Leaf, m._parameters)  # Python's method cache may hold the name
    gc.collect()  # classes of earlier tests hold Module
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(200):
        setattr(m, name, value)
        getattr(m, name)
        m.weight  # noqa: B018
        m(1)
        list(m.named_parameters())
        m.eval()
        m.state_dict(prefix="p.")
        hasattr(m, "nothing")
    gc.collect()
    after = [sys.getrefcount(o) for o in counted]
    assert after == before
