"""What a Module written in C usually breaks: everything that a class written in Python allows."""

import copy
import types
import typing
from collections import OrderedDict

import pytest

import rushlight as torch
from helpers.modules import Net
from rushlight import nn


class Bare(nn.Module):
    """Has no super().__init__()."""

    def __init__(self):
        pass


# 1
def test_object_setattr_bypasses_registration():
    m = Net()
    child = nn.Module()
    object.__setattr__(m, "hidden", child)
    assert m.hidden is child
    assert "hidden" not in m._modules
    object.__delattr__(m, "hidden")
    assert not hasattr(m, "hidden")


# 2
def test_a_users_getattr_sees_every_miss_before_the_fallback():
    seen = []

    class Sees(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))
            self.plain = 1

        def __getattr__(self, name):
            seen.append(name)
            if name == "invented":
                return 42
            return super().__getattr__(name)

    m = Sees()
    seen.clear()
    assert m.plain == 1
    assert m.weight is m._parameters["weight"]
    assert m.invented == 42
    with pytest.raises(AttributeError, match="'Sees' object has no attribute 'gone'"):
        m.gone  # noqa: B018
    assert seen == ["weight", "invented", "gone"]


def test_getattr_added_and_removed_at_run_time():
    class Late(nn.Module):
        pass

    m = Late()
    assert not hasattr(m, "x")
    Late.__getattr__ = lambda self, name: name
    assert m.x == "x"
    del Late.__getattr__
    assert not hasattr(m, "x")
    Late.__getattribute__ = lambda self, name: 7
    assert m.x == 7
    del Late.__getattribute__
    assert not hasattr(m, "x")


# 3
def test_super_getattr_works_and_getattribute_finds_no_parameters():
    m = Net()
    assert m.__getattr__("weight") is m.weight
    assert nn.Module.__getattr__(m, "child") is m.child
    with pytest.raises(AttributeError):
        m.__getattribute__("weight")
    with pytest.raises(AttributeError):
        object.__getattribute__(m, "child")


# 4
def hook_count(m):
    seen = []
    handle = m.register_forward_hook(lambda *a: seen.append(1))
    m(1)
    handle.remove()
    m(1)
    return len(seen)


def test_hooks_follow_the_dict_of_the_moment():
    m, seen = Net(), []
    m._forward_hooks[99] = lambda *a: seen.append("direct")
    m(1)
    other = Net()
    other._forward_hooks[1] = lambda *a: seen.append("other")
    m.__dict__ = other.__dict__
    m(1)
    m._forward_hooks = OrderedDict()
    m(1)
    assert seen == ["direct", "other"]
    assert m.weight is other.weight


def test_hooks_of_copies():
    m, seen = Net(), []
    m.register_forward_hook(lambda mod, args, out: seen.append(mod))
    twins = [copy.copy(m), copy.deepcopy(m), m._replicate_for_data_parallel()]
    for twin in twins:
        twin(1)
        assert hook_count(twin) == 1
    assert seen[0] is twins[0]
    empty = Net.__new__(Net)
    empty.__setstate__(Net().__dict__)
    assert hook_count(empty) == 1


def test_a_class_may_hold_the_hook_dicts():
    seen = []

    class Old(nn.Module):
        _forward_hooks: typing.ClassVar = {1: lambda *a: seen.append(1)}

        def forward(self, x):
            return x

    m = Old()
    del m.__dict__["_forward_hooks"]
    assert m(3) == 3
    assert seen == [1]


# 5: prepend, self-removal, with_kwargs, always_call and global hooks are in test_module.py
def test_a_hook_added_by_a_hook_runs_from_the_next_call():
    m, seen = Net(), []

    def add(mod, args, out):
        m.register_forward_hook(lambda *a: seen.append("new"))

    m.register_forward_hook(add)
    m(1)
    assert seen == []
    m(1)
    assert seen == ["new"]


# 6
def test_an_attribute_error_inside_a_property():
    class Prop(nn.Module):
        @property
        def p(self):
            return self.missing

        @property
        def other(self):
            raise ValueError("kept")

    with pytest.raises(AttributeError) as error:
        Prop().p  # noqa: B018
    assert str(error.value) == "'Prop' object has no attribute 'p'"
    with pytest.raises(ValueError, match="kept"):
        Prop().other  # noqa: B018


# 7
class Loud(nn.Module):
    """Overrides everything that a walk of its parent may call, and notes it."""

    def __init__(self, log):
        super().__init__()
        self.__dict__["log"] = log
        self.leaf = nn.Linear(1, 1) if hasattr(nn, "Linear") else nn.Sequential()

    def note(self, name):
        self.log.append(name)


def overriding(name):
    def method(self, *args, **kwargs):
        self.note(name)
        return getattr(nn.Module, name)(self, *args, **kwargs)

    return method


OVERRIDDEN = [
    "register_parameter",
    "register_buffer",
    "train",
    "named_modules",
    "state_dict",
    "_save_to_state_dict",
    "_load_from_state_dict",
    "children",
    "named_children",
    "_apply",
    "apply",
    "named_parameters",
    "named_buffers",
    "_named_members",
]


@pytest.mark.parametrize("where", ["class", "instance", "run time"])
@pytest.mark.parametrize(
    ("name", "walk"),
    [
        ("train", lambda root: root.train()),
        ("train", lambda root: root.eval()),
        ("named_modules", lambda root: list(root.named_modules())),
        ("named_modules", lambda root: list(root.modules())),
        ("named_modules", lambda root: list(root.parameters())),
        ("named_modules", lambda root: list(root.named_buffers())),
        ("state_dict", lambda root: root.state_dict()),
        ("_save_to_state_dict", lambda root: root.state_dict()),
        ("_load_from_state_dict", lambda root: root.load_state_dict({}, strict=False)),
        ("children", lambda root: root.eval()),
        ("children", lambda root: root.apply(lambda m: None)),
        ("named_children", lambda root: root.eval()),
        ("_apply", lambda root: root.cpu()),
        ("apply", lambda root: root.apply(lambda m: None)),
    ],
)
def test_overridden_methods_of_children_are_called(name, walk, where):
    log = []
    kind = type("Loudest", (Loud,), {name: overriding(name)} if where == "class" else {})
    child = kind(log)
    if where == "instance":
        child.__dict__[name] = types.MethodType(overriding(name), child)
    elif where == "run time":
        setattr(kind, name, overriding(name))
    log.clear()
    root = nn.Sequential(nn.Sequential(child))
    walk(root)
    assert log
    assert set(log) == {name}


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("named_parameters", lambda m: list(m.parameters())),
        ("named_buffers", lambda m: list(m.buffers())),
        ("_named_members", lambda m: list(m.parameters())),
        ("named_modules", lambda m: list(m.modules())),
        ("register_parameter", lambda m: setattr(m, "w", nn.Parameter(torch.zeros(1)))),
        ("register_buffer", lambda m: (m.register_buffer("b", None), setattr(m, "b", torch.zeros(1)))),
    ],
)
def test_overridden_methods_of_the_module_itself_are_called(name, act):
    log = []
    act(type("Loudest", (Loud,), {name: overriding(name)})(log))
    assert log
    assert set(log) == {name}


def test_register_buffer_without_persistent():
    class Narrow(nn.Module):
        def register_buffer(self, name, tensor):
            nn.Module.register_buffer(self, name, tensor)

    m = Narrow()
    m.register_buffer("b", torch.zeros(1))
    m.b = torch.ones(1)
    m._non_persistent_buffers_set.add("b")
    with pytest.raises(
        RuntimeError, match="implements register_buffer\\(\\) without the persistent argument"
    ):
        m.b = torch.zeros(1)


# 8
def test_iterators_are_lazy():
    class Never(nn.Module):
        def named_modules(self, *args, **kwargs):
            raise AssertionError("too early")

    m = nn.Sequential(Net(), Never())
    iterator = m.parameters()
    assert next(iterator) is m[0].weight
    with pytest.raises(AssertionError, match="too early"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    unready = Bare().parameters()
    with pytest.raises(AttributeError, match="'Bare' object has no attribute '_parameters'"):
        next(unready)


def test_changing_size_while_iterating():
    m = nn.Sequential(Net(), Net())
    with pytest.raises(RuntimeError, match="^dictionary changed size during iteration$"):
        for _ in m.modules():
            m.add_module(str(len(m)), nn.Module())
    with pytest.raises(RuntimeError, match="^dictionary changed size during iteration$"):
        for p in m[0].parameters():
            m[0].register_parameter(f"p{id(p)}", nn.Parameter(torch.zeros(1)))


def test_identity_and_none_in_iteration():
    m = nn.Module()
    m.w = p = nn.Parameter(torch.zeros(1))
    m.w2 = p
    m.register_parameter("none", None)
    m.c = m.c2 = nn.Module()
    m.add_module("nothing", None)
    assert [n for n, _ in m.named_parameters()] == ["w"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == ["w", "w2"]
    assert [n for n, _ in m.named_children()] == ["c"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "c", "c2"]
