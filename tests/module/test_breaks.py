"""What a Module written in C usually breaks: everything that a class written in Python allows."""

import abc
import copy
import dataclasses
import functools
import inspect
import pickle
import types
import typing
import weakref
from collections import OrderedDict

import pytest

import rushlight as torch
from rushlight import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.child = nn.Sequential()

    def forward(self, x):
        return x


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


# 9
def test_monkey_patching_reaches_live_instances(monkeypatch):
    m = Net()
    assert m(1) == 1
    with monkeypatch.context() as patch:
        patch.setattr(Net, "__call__", lambda self, x: ("net", x), raising=False)
        assert m(1) == ("net", 1)
    assert m(1) == 1
    original = nn.Module.__call__
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__call__", lambda self, *a: ("patched", original(self, *a)))
        assert m(1) == ("patched", 1)
        patch.setattr(nn.Module, "foo", lambda self: "foo", raising=False)
        assert m.foo() == "foo"
        patch.setattr(nn.Module, "train", lambda self, mode=True: "train")
        assert m.eval() == "train"
        patch.setattr(nn.Module, "__setattr__", lambda self, n, v: self.__dict__.__setitem__(n, (n, v)))
        m.z = 1
        assert m.z == ("z", 1)
    assert m(1) == 1
    with monkeypatch.context() as patch:
        patch.setattr(Net, "_call_impl", lambda self, x: ("impl", x), raising=False)
        assert m(1) == ("impl", 1)
    assert m(1) == 1
    assert m.eval() is m


# 10
def test_every_kind_of_forward():
    class Static(nn.Module):
        @staticmethod
        def forward(x):
            return ("static", x)

    class Class(nn.Module):
        @classmethod
        def forward(cls, x):
            return (cls, x)

    class Property(nn.Module):
        @property
        def forward(self):
            return lambda x: ("property", x)

    class Partial(nn.Module):
        def run(self, kind, x):
            return (kind, x)

        forward = functools.partialmethod(run, "partial")

    class Attribute(nn.Module):
        def __getattribute__(self, name):
            return (lambda x: ("attribute", x)) if name == "forward" else super().__getattribute__(name)

    assert Static()(1) == ("static", 1)
    assert Class()(1) == (Class, 1)
    assert Property()(1) == ("property", 1)
    assert Partial()(1) == ("partial", 1)
    assert Attribute()(1) == ("attribute", 1)
    m = Net()
    m.forward = lambda x: ("instance", x)
    assert m(1) == ("instance", 1)
    del m.forward
    assert m(1) == 1
    m.forward = m.child
    assert m(1) == 1  # an empty Sequential


def test_forward_is_looked_up_before_the_pre_hooks_run():
    m = Net()
    m.register_forward_pre_hook(lambda mod, args: setattr(mod, "forward", lambda x: "changed"))
    assert m(1) == 1
    assert m(1) == "changed"


# 11
def test_abstract_classes_stay_abstract():
    class Abstract(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x): ...

    class Concrete(Abstract):
        def forward(self, x):
            return x

    with pytest.raises(TypeError, match="abstract"):
        Abstract()
    assert Concrete()(1) == 1


def test_mixing_with_other_bases():
    class WithList(nn.Module, list):
        def __init__(self, items):
            nn.Module.__init__(self)
            list.__init__(self, items)

    class WithDict(dict, nn.Module):
        def __init__(self):
            dict.__init__(self, a=1)
            nn.Module.__init__(self)

    class WithError(nn.Module, Exception):
        pass

    T = typing.TypeVar("T")

    class WithGeneric(nn.Module, typing.Generic[T]):
        def forward(self, x: T) -> T:
            return x

    @typing.runtime_checkable
    class Runs(typing.Protocol):
        def forward(self, x): ...

    class WithProtocol(nn.Module, Runs):
        def forward(self, x):
            return x

    @dataclasses.dataclass(eq=False)
    class Data(nn.Module):
        size: int = 3

        def __post_init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(self.size))

    class Slots(nn.Module):
        __slots__ = ("slot",)

        def __init__(self):
            super().__init__()
            self.slot = nn.Sequential()

    m = WithList([1, 2])
    m.w = nn.Parameter(torch.zeros(1))
    assert list(m) == [1, 2]
    assert m.w is m._parameters["w"]
    assert WithDict()["a"] == 1
    assert WithDict().training is True
    with pytest.raises(WithError):
        raise WithError
    assert WithGeneric[int]()(5) == 5
    assert isinstance(WithProtocol(), Runs)
    assert WithProtocol()(1) == 1
    assert Data(4).w.shape == (4,)
    assert "slot" in Slots()._modules


def test_classes_behind_module_in_the_mro_see_what_is_passed_on():
    class Watch:
        def __setattr__(self, name, value):
            super().__setattr__(name, ("watched", value))

        def __delattr__(self, name):
            super().__setattr__("deleted", name)

    class Watched(nn.Module, Watch):
        pass

    m = Watched()
    m.x = 1
    assert m.x == ("watched", 1)
    del m.x
    assert m.deleted == "x"


def test_metaclasses_and_class_assignment():
    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.made = True
            return made

    class Made(nn.Module, metaclass=Meta):
        pass

    class Other(nn.Module):
        def forward(self, x):
            return "other"

    assert Made().made is True
    m = Net()
    assert m(1) == 1
    m.__class__ = Other
    assert m(1) == "other"
    assert m.weight is m._parameters["weight"]
    assert weakref.ref(m)() is m


# 12
def test_inspection():
    m = Net()
    assert str(inspect.signature(m)) == "(*args, **kwargs)"
    assert str(inspect.signature(nn.Module.__call__)) == "(self, /, *args, **kwargs)"
    assert str(inspect.signature(m.register_buffer)) == "(name, tensor, persistent=True)"
    assert str(inspect.signature(m.named_parameters)) == "(prefix='', recurse=True, remove_duplicate=True)"
    assert m.register_buffer.__func__ is nn.Module.register_buffer
    assert inspect.isfunction(nn.Module.to)
    assert inspect.isroutine(nn.Module.train)
    assert callable(m)
    assert all(nn.Module.__dict__[n].__doc__ is not None for n in ("train", "state_dict", "to", "parameters"))


# 13
def test_signature_of_classes():
    class Without(nn.Module):
        def forward(self, x):
            return x

    class With(nn.Module):
        def __init__(self, a, b=2):
            super().__init__()

    assert str(inspect.signature(Without)) == "(*args, **kwargs)"
    assert str(inspect.signature(With)) == "(a, b=2)"
    assert str(inspect.signature(nn.Module)) == "(*args, **kwargs)"


# 14
def test_a_users_mapping_as_modules():
    log = []

    class Mapping(dict):
        def __contains__(self, key):
            log.append(("contains", key))
            return super().__contains__(key)

        def __getitem__(self, key):
            log.append(("get", key))
            return super().__getitem__(key)

        def __setitem__(self, key, value):
            log.append(("set", key))
            super().__setitem__(key, value)

        def items(self):
            log.append(("items",))
            return [(k, v) for k, v in super().items() if k != "hidden"]

    m = nn.Module()
    m._modules = Mapping()
    m.child = child = nn.Module()
    m.hidden = nn.Module()
    log.clear()
    assert m.child is child
    assert log == [("contains", "child"), ("get", "child")]
    log.clear()
    assert [n for n, _ in m.named_modules()] == ["", "child"]
    m.eval()
    assert m.hidden.training is True
    m.state_dict()
    assert log.count(("items",)) == 3
    m.child = None
    assert log[-1] == ("set", "child")


# 15
def test_assigning_a_parameter_cleans_up_first():
    m = nn.Module()
    m.register_buffer("x", torch.zeros(1), persistent=False)
    m.x = p = nn.Parameter(torch.zeros(1))
    assert m._buffers == {}
    assert m._non_persistent_buffers_set == set()
    assert m.x is p
    m.x = None
    assert m._parameters == {"x": None}
    m.c = nn.Module()
    m.c = p
    assert m._modules == {}


# 16
def test_hasattr_inside_registration_runs_user_code():
    log = []

    class Asks(nn.Module):
        def __getattr__(self, name):
            log.append(name)
            return super().__getattr__(name)

        @property
        def taken(self):
            log.append("property")

    m = Asks()
    log.clear()
    m.register_parameter("w", None)
    m.register_buffer("b", None)
    m.add_module("c", None)
    assert log == ["w", "b", "c"]
    with pytest.raises(KeyError, match="attribute 'taken' already exists"):
        m.register_buffer("taken", None)
    assert log[-1] == "property"


# 17
def test_setstate_fills_in_what_old_files_lack():
    m = Net()
    state = m.__getstate__()
    state["_compiled_call_impl"] = print
    twin = Net.__new__(Net)
    twin.__dict__["_compiled_call_impl"] = print
    assert "_compiled_call_impl" not in twin.__getstate__()
    kept = ("training", "_parameters", "_buffers", "_modules", "_backward_hooks", "_forward_hooks")
    old = Net.__new__(Net)
    old.__setstate__({k: v for k, v in m.__getstate__().items() if k in kept})
    assert set(old.__dict__) == set(m.__dict__)
    assert type(old._forward_pre_hooks) is OrderedDict
    assert old._non_persistent_buffers_set == set()
    assert old(1) == 1


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 1

    def __getstate__(self):
        return {**super().__getstate__(), "count": self.count + 1}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.count *= 10


def test_pickle_and_deepcopy_go_through_the_state_methods():
    m = Stateful()
    assert copy.deepcopy(m).count == 20
    assert pickle.loads(pickle.dumps(m)).count == 20
    assert m.__reduce_ex__(2)[0].__name__ == "__newobj__"
