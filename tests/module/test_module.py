"""Module: state, attributes, registration, iteration, walks, repr, leaks."""

import copy
import gc
import sys
import threading
import warnings
import weakref
from collections import OrderedDict

import pytest

import rushlight as torch
from kits.modules import Failing, Leaf, Tree
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


# ---- iteration ----
def test_names_in_order_and_once():
    tree = Tree()
    assert [n for n, _ in tree.named_modules()] == ["", "a", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in tree.named_children()] == ["a", "inner"]
    assert [n for n, _ in tree.named_parameters()] == ["a.weight", "inner.0.weight", "inner.1.weight"]
    assert [n for n, _ in tree.named_buffers(prefix="p", recurse=False)] == []
    assert [n for n, _ in tree.a.named_buffers("p")] == ["p.mean", "p.scratch"]
    assert list(tree.children()) == [tree.a, tree.inner]
    assert list(tree.modules()) == [m for _, m in tree.named_modules()]
    assert list(tree.parameters()) == [p for _, p in tree.named_parameters()]
    assert list(tree.a.buffers()) == [tree.a.mean, tree.a.scratch]


def test_duplicates_on_request():
    tree = Tree()
    names = [n for n, _ in tree.named_parameters(remove_duplicate=False)]
    assert names == ["a.weight", "inner.0.weight", "inner.1.weight", "shared.weight"]
    assert [n for n, _ in tree.named_modules(remove_duplicate=False)][-1] == "shared"
    assert len(list(tree.modules(remove_duplicate=False))) == 6


def test_memo_is_shared_with_the_caller():
    tree = Tree()
    memo = {tree.inner}
    assert [n for n, _ in tree.named_modules(memo, "root")] == ["root", "root.a"]
    assert memo == {tree, tree.a, tree.inner}


def test_named_members_takes_a_function():
    tree = Tree()
    pairs = list(tree._named_members(lambda m: m._buffers.items(), prefix="x", recurse=True))
    assert [n for n, _ in pairs][:2] == ["x.a.mean", "x.a.scratch"]


def test_iterators_are_collected_with_their_cycles():
    m = nn.Module()
    m.iterator = m.modules()
    next(m.iterator)
    ref = weakref.ref(m)
    del m
    gc.collect()
    assert ref() is None


def test_an_iterator_refuses_to_run_inside_itself():
    m = Leaf()

    def members(module):
        with pytest.raises(ValueError, match="generator already executing"):
            next(iterator)
        return module._parameters.items()

    iterator = m._named_members(members)
    assert [n for n, _ in iterator] == ["weight"]


# ---- walks ----
def test_train_eval_apply():
    tree = Tree()
    assert tree.eval() is tree
    assert [m.training for m in tree.modules()] == [False] * 5
    assert tree.train() is tree
    assert tree.inner[1].training is True
    seen = []
    assert tree.apply(seen.append) is tree
    assert seen == [tree.a, tree.inner[0], tree.inner[1], tree.inner, tree]
    with pytest.raises(ValueError, match="^training mode is expected to be boolean$"):
        tree.train(1)


def test_requires_grad_and_zero_grad():
    tree = Tree()
    tree.requires_grad_(False)
    assert not any(p.requires_grad for p in tree.parameters())
    tree.requires_grad_()
    weight = tree.a.weight
    weight.grad = torch.ones(2, 3)
    tree.zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [[0.0] * 3] * 2
    tree.zero_grad()
    assert weight.grad is None


def test_casts_keep_parameters_and_replace_buffers():
    m = Leaf(1.5)
    m.register_buffer("count", torch.ones(2, dtype=torch.int64))
    m.weight.grad = torch.ones(2, 3)
    weight = m.weight
    assert m.double() is m
    assert m.weight is weight
    assert weight.dtype == weight.grad.dtype == m.mean.dtype == torch.float64
    assert m.count.dtype == torch.int64
    assert m.half().mean.dtype == torch.float16
    assert m.bfloat16().mean.dtype == torch.bfloat16
    assert m.float().mean.dtype == torch.float32
    assert m.to(torch.float64).weight.dtype == torch.float64
    assert m.to("cpu", dtype=torch.float32).weight.tolist() == [[1.5] * 3] * 2
    assert m.to(torch.zeros(1, dtype=torch.float16)).weight.dtype == torch.float16
    with pytest.raises(TypeError, match="nn.Module.to only accepts floating point or complex dtypes"):
        m.to(torch.int32)


def test_deep_trees_raise_recursion_error_and_free():
    deep = 200_000
    root = nn.Module()
    here = root
    for _ in range(deep):
        child = nn.Module()
        here._modules["c"] = child
        here = child
    for walk in (
        lambda m: m.eval(),
        lambda m: m.state_dict(),
        lambda m: m.apply(len),
        repr,
        lambda m: m.load_state_dict({}),
        lambda m: list(m.named_parameters()),
    ):
        with pytest.raises(RecursionError):
            walk(root)
    assert sum(1 for _ in root.modules()) == deep + 1
    ref = weakref.ref(here)
    del root, here, child
    gc.collect()
    assert ref() is None


def test_deep_trees_in_a_thread():
    root = here = nn.Module()
    for _ in range(50_000):
        child = nn.Module()
        here._modules["c"] = child
        here = child
    caught = []

    def walk():
        for method in (root.eval, root.state_dict):
            try:
                method()
            except RecursionError:
                caught.append(1)

    thread = threading.Thread(target=walk)
    thread.start()
    thread.join()
    assert caught == [1, 1]


# ---- looking names up ----
def test_get_and_set_submodule():
    tree = Tree()
    assert tree.get_submodule("") is tree
    assert tree.get_submodule("inner.0") is tree.inner[0]
    assert tree.get_parameter("inner.1.weight") is tree.inner[1].weight
    assert tree.get_buffer("a.mean") is tree.a.mean
    leaf = Leaf()
    tree.set_submodule("inner.0", leaf)
    assert tree.inner[0] is leaf
    for call, text in (
        (lambda: tree.get_submodule("inner.7"), "Sequential has no attribute `7`"),
        (lambda: tree.get_submodule("a.weight"), "`weight` is not an nn.Module"),
        (lambda: tree.get_parameter("a.mean"), "`mean` is not an nn.Parameter"),
        (lambda: tree.get_buffer("a.weight"), "`weight` is not a buffer"),
        (lambda: tree.set_submodule("inner.7", leaf, strict=True), "Sequential has no attribute `7`"),
    ):
        with pytest.raises(AttributeError) as error:
            call()
        assert str(error.value) == text


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
