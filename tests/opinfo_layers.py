"""Samples of the rows behind the layers: activations, norms, rearrangements, convolutions, factorisations."""

import math

import numpy as np

import opinfo_numpy
from opinfo import S, special, x

_BOOL = ("bool",)


def _unary(extra=()):
    return [S(special(30)), S(x(2, 3, 4)), S(x(0, 3)), S(x()), *extra]


ACTIVATIONS = {
    **{
        name: _unary()
        for name in (
            *("log1p", "expm1", "log2", "log10", "exp2", "tan", "asin", "acos", "atan", "sinh", "cosh"),
            *("asinh", "acosh", "atanh", "erfc", "erfinv", "frac", "hardswish", "hardsigmoid", "mish"),
            *("log_sigmoid", "selu"),
        )
    },
    "softplus": _unary([S(x(2, 3), 2, 1), S(x(2, 3), beta=0.5)]),
    "prelu": [S(x(2, 3, 4), x(3)), S(x(2, 3, 4), x(1)), S(x(5), x(1)), S(x(), x()), S(x(0, 3), x(3))],
    "rrelu": _unary(
        [S(x(20), training=True).but("float16"), S(x(4, 5), 0.1, 0.9, True).but("float16"), S(x(9), 0.5, 0.5)]
    ),
    "celu": _unary([S(x(2, 3), 0.5), S(x(2, 3), -2)]),
    "threshold": [S(special(30), 1, 2), S(x(2, 3, 4), 0, 0), S(x(0, 3), 1, 2), S(x(), 1, 2)],
    "softshrink": _unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "hardshrink": _unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "glu": [S(x(2, 6)), S(x(4, 3), 0), S(x(2, 4, 3), -2), S(x(0, 4)), S(special(30))],
}

SAMPLES = {**ACTIVATIONS}


def _erfinv(a):
    """By bisection on erf: slow, and nothing else."""

    def one(y):
        if not abs(y) < 1:
            return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
        low, high = 0.0, 6.0
        for _ in range(200):
            middle = (low + high) / 2
            if (math.erfc(middle) > 1 - abs(y)) if abs(y) > 0.5 else (math.erf(middle) < abs(y)):
                low = middle
            else:
                high = middle
        return math.copysign(middle, y)

    return np.vectorize(one, otypes=[np.float64])(a) if a.size else a


def _glu(a, dim=-1):
    first, second = np.split(a, 2, dim)
    return first / (1 + np.exp(-second))


def _prelu(a, weight):
    if weight.size > 1:
        weight = weight.reshape(-1, *[1] * (a.ndim - 2))
    return np.where(a > 0, a, a * weight)


NUMPY = {
    **{
        name: getattr(np, name) for name in ("log1p", "expm1", "log2", "log10", "exp2", "tan", "sinh", "cosh")
    },
    **{name: getattr(np, "arc" + name[1:]) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "erfinv": _erfinv,
    "erfc": lambda a: np.vectorize(math.erfc, otypes=[np.float64])(a) if a.size else a,
    "frac": lambda a: a - np.trunc(a),
    "softplus": lambda a, beta=1, threshold=20: np.where(
        a * beta > threshold, a, np.log1p(np.exp(a * beta)) / beta
    ),
    "hardswish": lambda a: a * np.clip(a + 3, 0, 6) / 6,
    "hardsigmoid": lambda a: np.clip(a + 3, 0, 6) / 6,
    "mish": lambda a: a * np.tanh(np.log1p(np.exp(a))),
    "log_sigmoid": lambda a: np.minimum(a, 0) - np.log1p(np.exp(-abs(a))),
    "prelu": _prelu,
    "celu": lambda a, alpha=1.0: np.where(a > 0, a, alpha * np.expm1(a / alpha)),
    "selu": lambda a: 1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(a)),
    "threshold": lambda a, limit, value: np.where(a <= limit, a.dtype.type(value), a),
    "softshrink": lambda a, lambd=0.5: np.sign(a) * np.maximum(abs(a) - lambd, 0),
    "hardshrink": lambda a, lambd=0.5: np.where(abs(a) <= lambd, 0, a),
    "glu": _glu,
}
RANDOM = {"rrelu"}
opinfo_numpy.NUMPY.update(NUMPY)
THEIRS = {}  # PyTorch keeps these elsewhere


def join(samples, random, theirs):
    """Adds these rows to what tests/opinfo.py has."""
    samples.update(SAMPLES)
    random |= RANDOM
    theirs.update(THEIRS)
