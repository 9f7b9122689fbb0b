"""Module: state, attributes, registration, iteration, calls, hooks, walks, state dicts, containers."""

import copy
import gc
import pickle
import sys
import threading
import warnings
import weakref
from collections import OrderedDict

import pytest
import rushlight as torch
from rushlight import nn
from rushlight.nn.modules import module as module_file
from rushlight.utils.hooks import RemovableHandle

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


class Leaf(nn.Module):
    def __init__(self, value=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2, 3), value))
        self.register_parameter("bias", None)
        self.register_buffer("mean", torch.full((3,), value))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x, scale=1):
        return x * scale


class Tree(nn.Module):
    def __init__(self, value=0.0):
        super().__init__()
        self.a = Leaf(value)
        self.inner = nn.Sequential(Leaf(value + 1), Leaf(value + 2))
        self.none = None
        self.shared = self.a

    def forward(self, x):
        return self.inner(self.a(x))


class Identity(nn.Module):
    def forward(self, *args, **kwargs):
        return (args, kwargs) if kwargs else args[0] if len(args) == 1 else args


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


# ---- calls and hooks ----
def test_call_passes_everything_through():
    m = Identity()
    assert m(1) == 1
    assert m(*range(20)) == tuple(range(20))
    assert m(1, k=2) == ((1,), {"k": 2})
    assert nn.Module.__call__(m, 5) == 5


def test_forward_is_required():
    with pytest.raises(NotImplementedError) as error:
        Leaf.__base__()(1)
    assert str(error.value) == 'Module [Module] is missing the required "forward" function'


def test_pre_hooks_change_the_input():
    m = Identity()
    m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    m.register_forward_pre_hook(lambda mod, args: (args[0] * 10, 7))
    assert m(1) == (20, 7)
    m.register_forward_pre_hook(lambda mod, args, kwargs: ((), {"k": args}), with_kwargs=True)
    assert m(1) == ((), {"k": (20, 7)})


@pytest.mark.parametrize("answer", [5, (1, 2, 3), [(), {}]])
def test_pre_hook_with_kwargs_must_return_a_pair(answer):
    m = Identity()
    m.register_forward_pre_hook(lambda mod, args, kwargs: answer, with_kwargs=True)
    with pytest.raises(RuntimeError) as error:
        m(1)
    wanted = f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}."
    assert str(error.value) == wanted


def test_hooks_see_and_change_the_output():
    m = Identity()
    seen = []
    m.register_forward_hook(lambda mod, args, out: seen.append((args, out)))
    m.register_forward_hook(lambda mod, args, out: out + 1)
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append((kwargs, out)), with_kwargs=True)
    assert m(1) == 2
    assert seen == [((1,), 1), ({}, 2)]


def test_order_global_hooks_first_prepended_hooks_ahead_of_own():
    m = Identity()
    seen = []
    handles = [
        m.register_forward_hook(lambda *a: seen.append("own")),
        m.register_forward_hook(lambda *a: seen.append("first"), prepend=True),
        module_file.register_module_forward_hook(lambda *a: seen.append("global")),
        m.register_forward_pre_hook(lambda *a: seen.append("pre")),
        m.register_forward_pre_hook(lambda *a: seen.append("pre first"), prepend=True),
        module_file.register_module_forward_pre_hook(lambda *a: seen.append("global pre")),
    ]
    m(1)
    for handle in handles:
        handle.remove()
    m(1)
    assert seen == ["global pre", "pre first", "pre", "global", "first", "own"]


def test_global_hook_with_kwargs():
    seen = []
    hook = module_file.register_module_forward_hook(
        lambda mod, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    with hook:
        Identity()(1, k=2)
    Identity()(1, k=3)
    assert seen == [{"k": 2}]


def test_hooks_run_from_a_snapshot():
    m = Identity()
    seen = []

    def once(mod, args):
        seen.append("once")
        first.remove()
        second.remove()

    first = m.register_forward_pre_hook(once)
    second = m.register_forward_pre_hook(lambda mod, args: seen.append("second"))
    m(1)
    m(1)
    assert seen == ["once", "second"]


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("forward failed")


def test_always_call_hooks_run_after_an_exception():
    m = Failing()
    seen = []
    m.register_forward_hook(lambda *a: seen.append("plain"))
    m.register_forward_hook(lambda mod, args, out: seen.append((args, out)), always_call=True)
    m.register_forward_hook(
        lambda mod, args, kwargs, out: seen.append(kwargs), always_call=True, with_kwargs=True
    )
    m.register_forward_hook(lambda *a: seen.append(sys.exc_info()[0]), always_call=True)
    with pytest.raises(ValueError, match="forward failed"):
        m(1)
    assert seen == [((1,), None), {}, ValueError]


def test_always_call_hooks_run_once_when_a_later_hook_fails():
    m = Identity()
    seen = []

    def fail(mod, args, out):
        raise KeyError("hook failed")

    m.register_forward_hook(lambda *a: seen.append("always"), always_call=True)
    m.register_forward_hook(fail)
    m.register_forward_hook(lambda *a: seen.append("late"), always_call=True)
    with pytest.raises(KeyError, match="hook failed"):
        m(1)
    assert seen == ["always", "late"]


def test_always_call_hook_that_fails_itself_only_warns():
    m = Failing()

    def fail(mod, args, out):
        raise KeyError("late")

    m.register_forward_hook(fail, always_call=True)
    with module_file.register_module_forward_hook(fail, always_call=True):
        with pytest.warns(UserWarning) as caught, pytest.raises(ValueError, match="forward failed"):
            m(1)
    texts = [str(w.message) for w in caught]
    tail = "hook with ``always_call=True`` raised an exception that was silenced as another error was raised"
    assert texts[0].startswith(f"global module forward {tail} in forward: 'late'")
    assert texts[1].startswith(f"module forward {tail} in forward: 'late'")


def test_keyboard_interrupt_skips_always_call_hooks():
    class Interrupted(nn.Module):
        def forward(self):
            raise KeyboardInterrupt

    m = Interrupted()
    seen = []
    m.register_forward_hook(lambda *a: seen.append(1), always_call=True)
    with pytest.raises(KeyboardInterrupt):
        m()
    assert seen == []


def test_backward_hooks_are_kept_and_exclusive():
    m = Identity()
    m.register_full_backward_pre_hook(print)
    handle = m.register_full_backward_hook(print)
    m.register_full_backward_hook(repr, prepend=True)
    assert m._is_full_backward_hook is True
    assert list(m._backward_hooks.values()) == [repr, print]
    assert m._get_backward_hooks() == ([repr, print], [])
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a"
    ):
        m.register_backward_hook(print)
    handle.remove()
    assert list(m._backward_hooks.values()) == [repr]


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


# ---- state dicts ----
def test_state_dict_names_values_metadata():
    tree = Tree()
    state = tree.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == [
        "a.weight",
        "a.mean",
        "inner.0.weight",
        "inner.0.mean",
        "inner.1.weight",
        "inner.1.mean",
        "shared.weight",
        "shared.mean",
    ]
    assert dict(state._metadata) == {
        n: {"version": 1} for n in ("", "a", "inner", "inner.0", "inner.1", "shared")
    }
    assert state["a.weight"].requires_grad is False
    assert tree.state_dict(keep_vars=True)["a.weight"] is tree.a.weight
    mine = {}
    assert tree.a.state_dict(destination=mine, prefix="x.") is mine
    assert list(mine) == ["x.weight", "x.mean"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(tree.a.state_dict({}, "y.")) == ["y.weight", "y.mean"]


def test_state_dict_hooks():
    tree = Tree()
    seen = []
    tree.a.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    tree.a.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__delitem__(prefix + "mean"))
    tree._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(only=len(state)))
    assert tree.state_dict() == {"only": 6}
    assert seen == [("a.", False), ("shared.", False)]
    tree.inner.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="^state_dict post-hook must return None$"):
        tree.state_dict()


def test_load_state_dict_copies():
    tree = Tree()
    other = Tree(5.0)
    weight = tree.a.weight
    result = tree.load_state_dict(other.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert tree.a.weight is weight
    assert weight.tolist() == [[5.0] * 3] * 2
    assert tree.inner[1].mean.tolist() == [7.0] * 3
    assert weight.requires_grad is True


def test_load_state_dict_assigns():
    tree = Tree()
    state = Tree(5.0).state_dict()
    tree.a.weight.requires_grad_(False)
    weight = tree.inner[0].weight
    tree.load_state_dict(state, assign=True)
    assert tree.inner[0].weight is not weight
    assert type(tree.inner[0].weight) is nn.Parameter
    assert tree.inner[0].weight.requires_grad is True
    assert tree.a.weight.requires_grad is False
    assert tree.a.mean is state["shared.mean"]


def test_load_state_dict_reports_everything():
    tree = Tree()
    state = {"a.weight": torch.zeros(3, 2), "zz": 1, "inner.0.q": 2, "inner.1.mean": 3, "inner.7.x": 4}
    with pytest.raises(RuntimeError) as error:
        tree.load_state_dict(state)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Tree:\n"
        '\tMissing key(s) in state_dict: "a.mean", "inner.0.weight", "inner.0.mean", "inner.1.weight", '
        '"shared.weight", "shared.mean". \n'
        '\tUnexpected key(s) in state_dict: "zz", "inner.7.x", "inner.0.q". \n'
        "\tsize mismatch for a.weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 3]).\n"
        '\tWhile copying the parameter named "inner.1.mean", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>"
    )
    del state["a.weight"], state["inner.1.mean"]
    result = tree.load_state_dict(state, strict=False)
    assert result.unexpected_keys == ["zz", "inner.7.x", "inner.0.q"]
    assert result.missing_keys[0] == "a.weight"
    assert type(result).__name__ == "_IncompatibleKeys"
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>."):
        tree.load_state_dict(3)


def test_load_state_dict_takes_scalars_of_old_checkpoints():
    m = nn.Module()
    m.scale = nn.Parameter(torch.zeros(()))
    m.load_state_dict({"scale": torch.full((1,), 3.0)})
    assert m.scale.tolist() == 3.0


def test_load_state_dict_hooks():
    tree = Tree()
    seen = []
    tree.a.register_load_state_dict_pre_hook(
        lambda m, state, prefix, *rest: seen.append((m is tree.a, prefix))
    )
    tree.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    state = tree.state_dict()
    del state["a.mean"]
    assert tree.load_state_dict(state).missing_keys == []
    assert seen == [(True, "a."), (True, "shared.")]
    tree.register_load_state_dict_post_hook(lambda m, keys: 1)
    with pytest.raises(AssertionError, match="are not expected to return new values"):
        tree.load_state_dict(state)


def test_extra_state_round_trip():
    class Extra(nn.Module):
        value = 0

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    m, other = nn.Sequential(Extra()), nn.Sequential(Extra())
    m[0].value = 7
    state = m.state_dict()
    assert state == {"0._extra_state": {"value": 7}}
    other.load_state_dict(state)
    assert other[0].value == 7
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "0._extra_state"'):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key\\(s\\) in state_dict: "_extra_state"'):
        nn.Module().load_state_dict({"_extra_state": 1})


# ---- copies ----
def test_deepcopy_copy_pickle():
    tree = Tree()
    tree.eval()
    for twin in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert twin.a is twin.shared
        assert twin.a.weight is not tree.a.weight
        assert list(twin.state_dict()) == list(tree.state_dict())
        assert twin.inner[0].training is False
    shallow = copy.copy(tree)
    assert shallow._modules is tree._modules


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


# ---- containers ----
def test_sequential():
    one, two, three = Identity(), Identity(), Identity()
    m = nn.Sequential(one, two)
    assert len(m) == 2
    assert m[-1] is two
    assert list(m[:1]) == [one]
    m.append(three).insert(0, three)
    assert list(m) == [three, one, two, three]
    del m[0]
    assert list(m._modules) == ["0", "1", "2"]
    assert m.pop(0) is one
    m[0] = one
    assert list(m + m) == [one, three] * 2
    assert list(m * 2) == [one, three] * 2
    m *= 2
    m += nn.Sequential(two)
    assert list(m) == [one, three, one, three, two]
    assert m.extend([one])(4) == 4
    with pytest.raises(IndexError, match="index 9 is out of range"):
        m[9]
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        m * 0
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
        m + [one]


def test_module_list():
    items = [Identity() for _ in range(3)]
    m = nn.ModuleList(items)
    m += [items[0]]
    assert list(m) == [*items, items[0]]
    assert m[-1] is items[0]
    assert list(m[1:3]) == items[1:3]
    m.insert(1, items[2])
    del m[0]
    m[0] = items[1]
    assert list(m) == [items[1], items[1], items[2], items[0]]
    assert list(m + [items[0]])[-1] is items[0]
    assert m.pop(0) is items[1]
    assert list(m._modules) == ["0", "1", "2"]
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but got int"):
        m.extend(3)
    with pytest.raises(NotImplementedError):
        m(1)


def test_module_dict():
    a, b = Identity(), Identity()
    m = nn.ModuleDict({"a": a})
    m.update([["b", b]])
    assert list(m) == list(m.keys()) == ["a", "b"]
    assert list(m.values()) == [a, b]
    assert list(m.items()) == [("a", a), ("b", b)]
    assert "b" in m
    assert m.pop("b") is b
    assert len(m) == 1
    del m["a"]
    m["c"] = a
    m.clear()
    assert len(m) == 0
    for value, error, text in (
        (3, TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        ([3], TypeError, "ModuleDict update sequence element #0 should be Iterable; isint"),
        ([("a",)], ValueError, "ModuleDict update sequence element #0 has length 1; 2 is required"),
    ):
        with pytest.raises(error) as caught:
            m.update(value)
        assert str(caught.value) == text


# ---- handles ----
def test_handle_removes_from_extra_dicts_and_survives_pickling():
    hooks, extra, more = OrderedDict(), OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=[extra, more])
    for d in (hooks, extra, more):
        d[handle.id] = 1
    twin, hooks2 = pickle.loads(pickle.dumps((handle, hooks)))
    twin.remove()
    assert hooks2 == {}
    handle.remove()
    handle.remove()
    assert hooks == extra == more == {}


def test_handle_of_a_dead_dict_does_nothing():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    del hooks
    handle.remove()
    assert pickle.loads(pickle.dumps(handle)).hooks_dict_ref() is None


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
