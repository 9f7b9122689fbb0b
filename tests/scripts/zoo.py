"""Classes that mix Module with others, and ways to override it."""

import abc
import dataclasses
import functools
import typing

import torch
from torch import nn


def attempt(f):
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {e}"


class Before:
    def greet(self):
        return "before"


class Loud(nn.Module):
    def forward(self, x):
        return x + 1


class MixinFirst(Before, Loud):
    pass


class MixinLast(Loud, Before):
    pass


T = typing.TypeVar("T")


class Gen(nn.Module, typing.Generic[T]):
    def forward(self, x):
        return x


class Shape(typing.Protocol):
    def forward(self, x): ...


class Follows(nn.Module, Shape):
    def forward(self, x):
        return x * 2


class Abstract(nn.Module, abc.ABC):
    @abc.abstractmethod
    def forward(self, x): ...


class Concrete(Abstract):
    def forward(self, x):
        return x - 1


@dataclasses.dataclass(eq=False)
class Data(nn.Module):
    size: int
    name: str = "data"

    def __post_init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(self.size))

    def forward(self, x):
        return x * self.w


class Slots(nn.Module):
    __slots__ = ("extra",)

    def forward(self, x):
        return x


class AsList(nn.Module, list):
    def forward(self, x):
        return len(self)


class AsDict(dict, nn.Module):
    def __init__(self):
        dict.__init__(self, a=1)
        nn.Module.__init__(self)

    __hash__ = nn.Module.__hash__

    def forward(self, x):
        return x


class AsError(nn.Module, Exception):
    pass


class OwnCall(nn.Module):
    def __call__(self, x):
        return "own call", super().__call__(x)

    def forward(self, x):
        return x


class OwnGet(nn.Module):
    def __getattr__(self, name):
        if name == "magic":
            return 42
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2 if isinstance(value, int) else value)


class OwnAttribute(nn.Module):
    def __getattribute__(self, name):
        if name == "shadow":
            return "seen"
        return super().__getattribute__(name)

    def forward(self, x):
        return self.shadow


class ByInstance(nn.Module):
    def __init__(self):
        super().__init__()
        self.forward = lambda x: ("instance", x)


class ByProperty(nn.Module):
    @property
    def forward(self):
        return lambda x: ("property", x)


class ByStatic(nn.Module):
    @staticmethod
    def forward(x):
        return "static", x


class ByClass(nn.Module):
    @classmethod
    def forward(cls, x):
        return cls.__name__, x


class ByPartial(nn.Module):
    def base(self, a, x):
        return a, x

    forward = functools.partialmethod(base, "partial")


class NoInit(nn.Module):
    def __init__(self):
        pass


class NoForward(nn.Module):
    pass


for cls in (MixinFirst, MixinLast):
    m = cls()
    print(cls.__name__, m.greet(), m(1), [c.__name__ for c in cls.__mro__[:3]])
print(Gen[int]()(3), Gen[int], type(Gen) is type(typing.Generic), Follows()(2))
print(attempt(Abstract).split(" with")[0].replace("'", ""), Concrete()(2))
d = Data(2)
print(d, d.size, d.name, d(torch.ones(2)).tolist(), d == d, d == Data(2), len({d, Data(2)}))
s = Slots()
s.extra = 3
print(s.extra, "extra" in s.__dict__, s(1))
a = AsList()
a.extend([1, 2])
print(a(0), list(a), AsDict()["a"], AsDict()(5), [p for p in AsDict().parameters()])
print(attempt(lambda: (_ for _ in ()).throw(AsError())))
print(OwnCall()(1))
g = OwnGet()
g.x = 4
g.w = nn.Parameter(torch.ones(1))
print(g.magic, g.x, g.w.tolist(), attempt(lambda: g.nothing))
o = OwnAttribute()
o.shadow = 1
print(o.shadow, o(1))
for cls in (ByInstance, ByProperty, ByStatic, ByClass, ByPartial):
    print(cls.__name__, cls()(1))
print(attempt(lambda: setattr(NoInit(), "w", nn.Parameter(torch.ones(1)))))
print(attempt(lambda: setattr(NoInit(), "m", nn.ReLU())), attempt(lambda: NoInit()(1)))
print(attempt(lambda: NoForward()(1)))
print(type(nn.Module), type(Loud), isinstance(Loud, type))
kept = nn.Module.__call__
nn.Module.__call__ = lambda self, *args: "patched"
print(Loud()(1), g.w.tolist())
nn.Module.__call__ = kept
print(Loud()(1))
Loud.forward = lambda self, x: x + 100
print(Loud()(1), MixinFirst()(1))
Loud.__call__ = lambda self, x: "class patched"
print(Loud()(1), MixinLast()(1), nn.ReLU()(torch.ones(1)))
