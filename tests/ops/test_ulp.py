"""Errors of the functions of one float32, in units in the last place, over all exponents, and special values.

`make ulp` looks at every float, without the operators.
"""

import functools
import json
import math
import os

import numpy as np
import pytest

import rushlight as rl
from helpers.threads import in_process
from rushlight.nn import functional as F

F32_END = 2.0**128  # stands for infinity, one unit above the largest float
COUNT, CHUNK = 1 << 22, 1 << 16
if "san.so" in os.environ.get("LD_PRELOAD", ""):
    COUNT = 1 << 18  # the sanitizers look at the code, not at the numbers


def _logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _soft(x):  # log(1 + e^x)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _remainder(a, b):  # of Python, but for the sign of zeros
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _wide(f):
    """The C library in double, where NumPy has no such function."""
    return lambda *x: f(*map(rl.from_numpy, x)).numpy()


# name: the operator, NumPy's in double, units
UNARY = {
    "exp": (rl.exp, np.exp, 1),
    "exp2": (rl.exp2, np.exp2, 2),
    "expm1": (rl.expm1, np.expm1, 1),
    "log": (rl.log, np.log, 1),
    "log1p": (rl.log1p, np.log1p, 1),
    "log2": (rl.log2, np.log2, 2),
    "log10": (rl.log10, np.log10, 2),
    "sinh": (rl.sinh, np.sinh, 2),
    "cosh": (rl.cosh, np.cosh, 2),
    "tanh": (rl.tanh, np.tanh, 1),
    "asinh": (rl.asinh, np.arcsinh, 2),
    "acosh": (rl.acosh, np.arccosh, 2),
    "atanh": (rl.atanh, np.arctanh, 2),
    "sigmoid": (rl.sigmoid, _logistic, 2),
    "log_sigmoid": (F.logsigmoid, lambda x: -_soft(-x), 2),
    "softplus": (F.softplus, _soft, 2),
    "silu": (F.silu, lambda x: x * _logistic(x), 2),
    "mish": (F.mish, lambda x: x * np.tanh(_soft(x)), 2),
    "elu": (F.elu, lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), 1),
    "sin": (rl.sin, np.sin, 1),
    "cos": (rl.cos, np.cos, 1),
    "tan": (rl.tan, np.tan, 1),
    "asin": (rl.asin, np.arcsin, 2),
    "acos": (rl.acos, np.arccos, 2),
    "atan": (rl.atan, np.arctan, 2),
    "erf": (rl.erf, _wide(rl.erf), 2),
    "erfc": (rl.erfc, _wide(rl.erfc), 2),
    "erfinv": (rl.erfinv, _wide(rl.erfinv), 2),
    "sqrt": (rl.sqrt, np.sqrt, 0.5),
    "reciprocal": (rl.reciprocal, np.reciprocal, 0.5),
    "rsqrt": (rl.rsqrt, lambda x: 1 / np.sqrt(x), 2),
}
BINARY = {
    "pow": (rl.pow, np.power, 2),
    "logaddexp": (lambda a, b: rl.logaddexp(a.abs(), b.abs()), lambda a, b: np.logaddexp(abs(a), abs(b)), 2),
    "remainder": (rl.remainder, _remainder, 1),
}
SPECIAL = np.array([0, 1, 2, 0.5, 88, 104, 1e-3, 1e-45, 1e-40, 2**-126, 3e38, math.inf, math.nan], np.float32)


def spread(n, seed):
    """n floats over all exponents, the special values among them."""
    bits = np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32)
    x = bits.view(np.float32)
    x[: 2 * len(SPECIAL)] = np.concatenate([SPECIAL, -SPECIAL])
    return x


def pairs(n):
    """All exponents, and then what lies near 1, where few answers overflow."""
    a, b = spread(n, 1), spread(n, 2)
    near = np.random.default_rng(3).standard_normal((2, n // 2)).astype(np.float32)
    a[n // 2 :], b[n // 2 :] = near[0] * 3, near[1] * 20
    count = 2 * len(SPECIAL)
    signed = a[:count].copy()
    a[: count * count], b[: count * count] = np.repeat(signed, count), np.tile(signed, count)
    return a, b


def worst(f, exact, *inputs):
    """The largest error and its inputs; inputs whose answer is not even of the right kind."""
    most, where, wrong = 0.0, None, None
    for at in range(0, len(inputs[0]), CHUNK):
        x = [part[at : at + CHUNK] for part in inputs]
        got = f(*map(rl.from_numpy, x)).numpy()
        wide = exact(*[part.astype(np.float64) for part in x])
        zero = (x[0] == 0) & (got == 0) & (wide == 0)
        bad = (np.isnan(got) != np.isnan(wide)) | (zero & (np.signbit(got) != np.signbit(wide)))
        bad |= np.isinf(wide) & (got != wide) & (np.abs(x[0]) < 1e30)
        np.clip(wide, -F32_END, F32_END, out=wide)
        binade = (wide.view(np.int64) & (0x7FF << 52)).view(np.float64)
        errors = np.abs(np.clip(got, -F32_END, F32_END, dtype=np.float64) - wide)
        errors /= np.maximum(binade, 2.0**-126) * 2.0**-23
        errors[np.isnan(errors)] = 0
        i = int(errors.argmax())
        if errors[i] > most:
            most, where = float(errors[i]), [part[i].item().hex() for part in x]
        if bad.any():
            wrong = [part[int(bad.argmax())].item().hex() for part in x]
    return most, where, wrong


def measure_all():
    with np.errstate(all="ignore"):
        x = spread(COUNT, 0)
        a, b = pairs(COUNT // 8)
        found = {name: worst(f, exact, x) for name, (f, exact, _) in UNARY.items()}
        found |= {name: worst(f, exact, a, b) for name, (f, exact, _) in BINARY.items()}
    return json.dumps(found)


@functools.cache
def measured(isa):
    return json.loads(
        in_process("from ops import test_ulp\nprint(test_ulp.measure_all())", RUSHLIGHT_ISA=isa)
    )


# "avx512" is no limit: what the machine has
@pytest.mark.skipif(os.environ.get("RUSHLIGHT_KERNELS") == "ref", reason="of the kernels in vectors")
@pytest.mark.parametrize("isa", ["avx2", "avx512"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_error(name, isa):
    most, where, wrong = measured(isa)[name]
    limit = (UNARY | BINARY)[name][2]
    assert most <= limit, f"{name}({where}) misses by {most} units"
    assert not wrong, f"{name}({wrong})"
