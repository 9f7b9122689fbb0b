"""First and second derivatives of every differentiable row, compared with finite differences in float64."""

import dataclasses

import pytest

import gradients
import opinfo
from rushlight import autograd

# Rows whose derivative has not been written: to shrink until it is empty.
NOT_YET = """
""".split()

# Between which numbers a row is smooth, where its samples leave that; nothing here is within 1e-5 of a kink.
SMOOTH = {
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), (0.5, 4)),
    "log1p": (-0.9, 4),
    "acosh": (1.5, 4),
    "reciprocal": (0.5, 4),
}


def smooth(name, placeholder):
    """The same shape with numbers where the row has a derivative: no edges of the dtype."""
    if not placeholder.follows or placeholder.values is not None:
        return placeholder
    low, high = SMOOTH.get(name, (placeholder.low, placeholder.high))
    return dataclasses.replace(placeholder, low=low, high=high, special=False)


def cases(name):
    """(what, function of the leaves, leaves) for each sample with something to differentiate."""
    row = opinfo.ROWS[name]
    for sample in opinfo.samples(name):
        call, leaves = gradients.function_of(row, sample.mapped(lambda p: smooth(name, p)))
        results = call(*leaves) if leaves else ()
        if results and all(r.isfinite().all() for r in results):  # the mean of nothing has no derivative
            yield f"{name}({sample})", call, leaves


@pytest.mark.parametrize("name", [name for name in gradients.NAMES if name not in NOT_YET])
def test_first_and_second(name):
    count = 0
    for what, call, leaves in cases(name):
        count += 1
        try:
            autograd.gradcheck(call, leaves, fast_mode=True)
            autograd.gradgradcheck(call, leaves, fast_mode=True)
        except Exception as error:
            raise AssertionError(what) from error
    assert count, "no sample has a derivative"


def has_derivative(name):
    try:
        test_first_and_second(name)
    except AssertionError as error:
        return "is not implemented" not in str(error.__cause__)
    return True


def test_the_list_shrinks():
    done = [name for name in NOT_YET if has_derivative(name)]
    assert not done, "these have derivatives by now and leave NOT_YET: " + " ".join(done)
