"""Which inputs need a gradient, which results have one, and what became of the inputs since: every derivative
answers what it answers when all inputs need one, or raises PyTorch's error; a value is never lost or made up.

A derivative that reads what its node does not save for these inputs raises "not given or not saved".
RUSHLIGHT_FULL=1 takes every sample and every subset."""

import itertools
import os
import random

import pytest

import op_samples as samples
import rushlight as torch
from helpers import gradients
from rushlight import _C, autograd

from .test_gradients import CONSTANT, ONCE, REFUSED, refused

FULL = bool(os.environ.get("RUSHLIGHT_FULL"))
SAMPLES, SUBSETS = (1000, 1000) if FULL else (3, 4)
DETACHED = "has been detached in-place"
WRITTEN = "has been modified by an inplace operation"


class Call:
    """One sample whose floating inputs hang on leaves, of which some need a gradient."""

    def __init__(self, entry, sample, wanted=None, through=False):
        self.leaves, self.given = [], []
        args, kwargs = sample.build(_C, "float64", "plain")
        constant = gradients.CONSTANT.get(entry["id"], ())

        def leaf(value):
            if isinstance(value, list):
                return [leaf(v) for v in value]
            if not isinstance(value, _C.Tensor) or not value.is_floating_point():
                return value
            n = len(self.leaves)
            value = value.detach().requires_grad_(wanted is None or n in wanted)
            self.leaves.append(value)
            self.given.append(value * 1 if through else value)
            return self.given[-1]

        args = [a if i in constant else leaf(a) for i, a in enumerate(args)]
        kwargs = {k: leaf(v) for k, v in kwargs.items()}
        if entry["flags"] & samples.ONLY_INPLACE and not through:
            args[0] = args[0] * 1
        _C.default_generator.manual_seed(5)
        results = samples.flat_results(samples.function(_C, entry)(*args, **kwargs))
        self.results = {i: r for i, r in enumerate(results) if isinstance(r, _C.Tensor) and r.requires_grad}

    def total(self, only=None):
        return sum(
            (r * gradients.weights(_C, r, i)).sum()
            for i, r in self.results.items()
            if only is None or i == only
        )

    def first(self, to, create=True, total=None):
        total = self.total() if total is None else total
        return autograd.grad(
            total, [self.leaves[i] for i in to], create_graph=create, retain_graph=True, allow_unused=True
        )

    def second(self, first, to):
        again = [(i, g) for i, g in zip(to, first, strict=True) if g is not None and g.requires_grad]
        if not again:
            return [None] * len(to)
        total = sum((g * gradients.weights(_C, g, 7 + i)).sum() for i, g in again)
        return self.first(to, create=False, total=total)


def equal(a, b):
    """None is zero."""
    if a is None or b is None:
        other = b if a is None else a
        return other is None or not (other.detach() != 0).any()
    return torch.allclose(a.detach(), b.detach(), rtol=1e-9, atol=1e-11, equal_nan=True)


def check(what, got, expected):
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert equal(a, b), (what, i, a, b)


def usable(name):
    """Some that have a derivative, the same ones each time."""
    every = [
        s
        for s in samples.of(name)
        if not refused(name, s) and (c := Call(samples.OPERATORS[name], s)).results and c.leaves
    ]
    return every if len(every) <= SAMPLES else random.Random(name).sample(every, SAMPLES)


def subsets(n, name):
    every = [s for k in range(1, n) for s in itertools.combinations(range(n), k)]
    return every if len(every) <= SUBSETS else random.Random(name).sample(every, SUBSETS)


NAMES = [name for name in gradients.NAMES if name not in REFUSED | ONCE | CONSTANT]


@pytest.mark.parametrize("name", NAMES)
def test_some_inputs_need_a_gradient(name):
    entry = samples.OPERATORS[name]
    for sample in usable(name):
        whole = Call(entry, sample)
        for some in subsets(len(whole.leaves), name):
            part = Call(entry, sample, some)
            what = f"{name}({sample}) by {some}"
            expected = whole.first(some)
            got = part.first(some) if part.results else [None] * len(some)
            check(what, got, expected)
            check(what + " again", part.second(got, some), whole.second(expected, some))


@pytest.mark.parametrize("name", NAMES)
def test_some_results_have_a_gradient(name):
    entry = samples.OPERATORS[name]
    for sample in usable(name):
        call = Call(entry, sample)
        every = range(len(call.leaves))
        if len(call.results) < 2 or not all(r.isfinite().all() for r in call.results.values()):
            continue
        for i in call.results:
            zeros = sum((r * 0).sum() for j, r in call.results.items() if j != i)
            alone, beside = (call.first(every, total=t) for t in (call.total(i), call.total(i) + zeros))
            check((name, str(sample), i), alone, beside)
            check((name, str(sample), i), call.second(alone, every), call.second(beside, every))


@pytest.mark.parametrize("name", NAMES)
def test_twice_through_the_same_graph(name):
    entry = samples.OPERATORS[name]
    for sample in usable(name):
        call = Call(entry, sample, through=True)
        every = range(len(call.leaves))
        first = call.first(every)
        check((name, str(sample)), call.first(every), first)
        check((name, str(sample)), call.second(first, every), call.second(first, every))


def detach(x):
    x.detach_()


def write(x):
    with torch.no_grad():
        x.mul_(3)


def outcome(call, text):
    """What a call answers, or None when it raises the error that is right."""
    try:
        return call()
    except RuntimeError as error:
        assert text in str(error), error
        return None


@pytest.mark.parametrize("change, text", [(detach, DETACHED), (write, WRITTEN)])
@pytest.mark.parametrize("name", NAMES)
def test_an_input_changes_afterwards(name, change, text):
    """Before the first derivative, or between it and the second."""
    entry = samples.OPERATORS[name]
    for sample in usable(name):
        call = Call(entry, sample, through=True)
        every = range(len(call.leaves))
        first = call.first(every)
        second = call.second(first, every)
        for i in every:
            what = f"{name}({sample}) input {i}"
            call = Call(entry, sample, through=True)
            if change is detach and any(r is call.given[i] for r in call.results.values()):
                continue
            change(call.given[i])
            got = outcome(lambda: call.first(every), text)  # noqa: B023
            if got is not None:
                check(what, got, first)
                got = outcome(lambda: call.second(got, every), text)  # noqa: B023
                if got is not None:
                    check(what + " again", got, second)
            call = Call(entry, sample, through=True)
            got = call.first(every)
            change(call.given[i])
            got = outcome(lambda: call.second(got, every), text)  # noqa: B023
            if got is not None:
                check(what + " second", got, second)
