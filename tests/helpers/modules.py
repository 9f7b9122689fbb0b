"""Modules that several test files use."""

import rushlight as torch
from rushlight import nn


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


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.child = nn.Sequential()

    def forward(self, x):
        return x


class Identity(nn.Module):
    def forward(self, *args, **kwargs):
        return (args, kwargs) if kwargs else args[0] if len(args) == 1 else args


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("forward failed")
