"""Classes of the user around Module: what a class written in Python allows, of a Module written in C too."""

import abc
import copy
import dataclasses
import functools
import inspect
import pickle
import typing
import weakref
from collections import OrderedDict

import pytest

import rushlight as torch
from helpers.modules import Net
from rushlight import nn


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
