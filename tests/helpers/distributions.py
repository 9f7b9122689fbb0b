"""Lines about distributions that are answered by torch and by rushlight, from the same seed."""

import warnings

import numpy

import rushlight
import rushlight.distributions  # noqa: F401


class Side:
    """One library: its answers as what can be compared."""

    def __init__(self, t, dtype):
        self.t, self.dtype, self.leaves = t, getattr(t, dtype), []

    def leaf(self, values):
        self.leaves.append(self.t.tensor(values, dtype=self.dtype, requires_grad=True))
        return self.leaves[-1]

    def make(self, case):
        self.leaves = []
        return case(self.t.distributions, self.leaf)

    def plain(self, value):
        """Arrays, texts and numbers in the place of tensors, constraints and distributions."""
        if isinstance(value, self.t.Tensor):
            return value.detach().numpy()
        if isinstance(value, dict):
            return {key: self.plain(each) for key, each in value.items()}
        return value if isinstance(value, (bool, int, float)) else repr(value)

    def answer(self, make):
        """Return what a function answers, the gradients of the leaves, and what it raises or warns."""
        for leaf in self.leaves:
            leaf.grad = None
        self.t.manual_seed(7)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                value = make()
                told = [self.plain(value)]
                if isinstance(value, self.t.Tensor) and value.requires_grad:
                    weights = self.t.arange(1, value.numel() + 1, dtype=value.dtype).view(value.shape)
                    (value * weights).sum().backward(retain_graph=True)
                    told += [None if leaf.grad is None else leaf.grad.numpy() for leaf in self.leaves]
            except Exception as error:
                text = " ".join(str(error).split())
                told = [type(error).__name__, text]
        return told + [(w.category.__name__, str(w.message)) for w in warned]


def agree(got, want, close=2e-4):
    """Both are equal: numbers up to 1e-7 in float64 and `close` in float32."""
    if isinstance(want, numpy.ndarray):
        tolerance = 1e-7 if want.dtype == numpy.float64 else close
        assert got.dtype == want.dtype and got.shape == want.shape
        numpy.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    elif isinstance(want, (list, tuple, dict)):
        assert len(got) == len(want)
        for key in want if isinstance(want, dict) else range(len(want)):
            agree(got[key], want[key], close)
    elif isinstance(want, str):
        assert isinstance(got, str)
        assert got.replace("rushlight.", "torch.") == want
    else:
        assert got == want


def compare(make, dtype="float64"):
    """make(t, distributions, leaf) answers the same, or raises the same."""
    import torch

    pair = []
    for t in (rushlight, torch):
        side = Side(t, dtype)
        pair.append(side.answer(lambda: make(t, t.distributions, side.leaf)))  # noqa: B023
    agree(*pair)
    return pair[0]
