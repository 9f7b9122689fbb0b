"""Element-wise operators answer each element with the same bits wherever it stands: at any remainder of a
vector's width, at any address, strided, stretched, in place, whichever thread takes it."""

import dataclasses
import os

import numpy as np
import pytest

import op_samples as samples
import rushlight
from op_samples.sample import Placeholder
from rushlight import _C

MANY = 1100  # more than two blocks of what goes through a buffer
SIZES = (*range(0, 67), 511, 512, 513, 1024, MANY)


def line_sample(name):
    """A sample whose tensors all have one shape; None: the operator is not element by element."""
    for sample in samples.of(name):
        tensors = [a for a in sample.args if isinstance(a, Placeholder)]
        if any(a.values is not None for a in tensors):
            continue  # as many as there are
        if tensors and len({a.shape for a in tensors}) == 1 and len(tensors[0].shape) > 0:
            return sample
    return None


FAMILIES = ("arith", "math", "clamp", "activation")
NAMES = [
    name
    for name in samples.OPERATORS
    if any(
        name in getattr(samples.FAMILIES[f], kind, ()) for f in FAMILIES for kind in ("SAMPLES", "BACKWARD")
    )
    and name not in samples.RANDOM | {"glu", "equal", "prelu", "frexp"}
    and not samples.OPERATORS[name]["flags"] & samples.ONLY_INPLACE
    and line_sample(name)
]
CASES = [
    (name, dtype)
    for name in NAMES
    for dtype in samples.admitted(samples.OPERATORS[name])
    if dtype not in line_sample(name).without
]
OPERANDS = {name: sum(isinstance(a, Placeholder) for a in line_sample(name).args) for name in NAMES}
SEVERAL = [(name, dtype) for name, dtype in CASES if OPERANDS[name] > 1]
IN_PLACE = [
    name
    for name in NAMES
    if samples.OPERATORS[name]["flags"] & samples.INPLACE
    and samples.OPERATORS[name]["flags"] & samples.METHOD
    and "float32" in samples.admitted(samples.OPERATORS[name])
]


def grown(name, dtype, n=MANY):
    """The sample's arguments with n elements each, and what calls the operator."""
    sample = line_sample(name)
    args = [dataclasses.replace(a, shape=(n,)) if isinstance(a, Placeholder) else a for a in sample.args]
    args, kwargs = dataclasses.replace(sample, args=tuple(args)).build(_C, dtype)
    function = samples.function(_C, samples.OPERATORS[name])
    return args, lambda *given: function(*given, **kwargs)


# The scalar instruction set calls fma(-a, b, c), which turns the sign of a NaN, where others have an
# instruction that does not; which of two NaN a sum answers with is the compiler's choice.
SIGNS_OF_NAN = os.environ.get("RUSHLIGHT_ISA") != "scalar"


def bits(t):
    t = t.float() if t.dtype is rushlight.bfloat16 else t
    a = t.contiguous().numpy()
    if a.dtype.kind == "f" and not SIGNS_OF_NAN:
        a = np.where(np.isnan(a), np.array(np.nan, a.dtype), a)
    return a.tobytes()


def each(args, take, *more):
    """`take` of every tensor of the arguments."""
    return [take(a, *more) if isinstance(a, _C.Tensor) else a for a in args]


def part(a, start, n):
    return a[start : start + n]


def copied(a, n):
    return a[:n].clone()


def square(a):
    return a[:1089].reshape(33, 33)


@pytest.mark.parametrize("name, dtype", CASES)
def test_any_size_and_address(name, dtype):
    args, function = grown(name, dtype)
    whole = function(*args)
    for n in SIZES:
        assert bits(function(*each(args, copied, n))) == bits(whole[:n]), n
    for n in (1, 7, 16, 33, 700):
        assert bits(function(*each(args, part, 3, n))) == bits(whole[3 : 3 + n]), n


LAYOUTS = {
    "turned": lambda a: a.t(),
    "columns": lambda a: a[:, 5:22],
    "turned, every third": lambda a: a.t()[3:, ::3],
}


@pytest.mark.parametrize("name, dtype", CASES)
def test_any_strides(name, dtype):
    args, function = grown(name, dtype)
    assert bits(function(*each(args, lambda a: a[::2]))) == bits(function(*args)[::2])
    squares = each(args, square)
    plain = function(*squares)
    for layout, take in LAYOUTS.items():
        assert bits(function(*each(squares, take))) == bits(take(plain)), layout
    turned = each(squares, lambda a: a.t().contiguous().t())
    for i in range(OPERANDS[name]):
        mixed = [*squares[:i], turned[i], *squares[i + 1 :]]
        assert bits(function(*mixed)) == bits(plain), i


FAR_NUMBERS = [
    (lambda a, b: scaled_sum(a, b, 256), "bool", True),
    (lambda a, b: scaled_sum(a, b, 2**33 + 1), "int32", 2),
    (lambda a, b: scaled_sum(a, b, 2**33 + 1), "int16", 2),
    (lambda a, b: rushlight.addcmul(a, b, b, value=2**33 + 1), "int32", 2),
]


def scaled_sum(a, b, alpha):
    return rushlight.add(a, b, alpha=alpha)


@pytest.mark.parametrize("call, dtype, answer", FAR_NUMBERS, ids=range(len(FAR_NUMBERS)))
def test_numbers_that_do_not_fit_wrap(call, dtype, answer):
    one = rushlight.ones(40, dtype=getattr(rushlight, dtype))
    zero = rushlight.zeros_like(one) if dtype == "bool" else one
    assert call(zero, one).tolist() == [answer] * 40


STRETCHED = {"row": lambda a: a[:1], "column": lambda a: a[:, :1], "one": lambda a: a[0, 0]}


@pytest.mark.parametrize("name, dtype", SEVERAL)
def test_stretched(name, dtype):
    args, function = grown(name, dtype)
    squares = each(args, square)
    for how, take in STRETCHED.items():
        for i in range(OPERANDS[name]):
            given = [*squares[:i], take(squares[i]), *squares[i + 1 :]]
            dense = [*squares[:i], take(squares[i]).expand(33, 33).contiguous(), *squares[i + 1 :]]
            if samples.OPERATORS[name]["name"] == "lerp" and how == "one":
                continue  # a number is a weight of another kind
            assert bits(function(*given)) == bits(function(*dense)), (how, i)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    args, function = grown(name, "float32")
    write = getattr(_C.Tensor, samples.OPERATORS[name]["name"] + "_")
    for take in (lambda a: a.clone(), lambda a: a.clone()[::3], lambda a: square(a).clone().t()):
        expected = function(*each(args, take)).to(args[0].dtype)
        assert bits(write(*each(args, take), **line_sample(name).kwargs)) == bits(expected)


@pytest.mark.parametrize("name", [name for name, dtype in CASES if dtype == "float32"])
def test_whichever_thread(name):
    args, function = grown(name, "float32", 120_000)
    threads = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(1)
        alone = function(*args)
        rushlight.set_num_threads(3)
        together = function(*args)
    finally:
        rushlight.set_num_threads(threads)
    assert bits(alone) == bits(together)
