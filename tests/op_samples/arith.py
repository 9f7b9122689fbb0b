"""Samples and NumPy's answers: arithmetic, comparisons and logic of two or more elements."""

import numpy as np

from op_samples.sample import (
    BOOL,
    DTYPES,
    FLOATS,
    WHOLE,
    S,
    but,
    fixed,
    mask,
    nz,
    pos,
    special,
    unary,
    unit,
    x,
)


def _binary(second=x, number=2):
    return [
        S(special(30), second(30)),
        S(x(2, 3, 4), second(2, 3, 4)),
        S(x(2, 1, 4), second(3, 1)),
        S(x(3), second()),
        S(x(0, 3), second(3)),
        S(x(), second()),
        *([S(x(2, 3), number)] if number is not None else []),
    ]


def _of_number(number, second=x):
    return [S(number, second(*shape)) for shape in ((2, 3, 4), (0, 3), ())]


SAMPLES = {
    "add": _binary() + [S(x(2, 3), x(2, 3), alpha=2), S(x(2, 3), 3, alpha=2)],
    "sub": but(BOOL, _binary() + [S(x(2, 3), x(2, 3), alpha=2)]),
    "rsub": but(BOOL, _binary() + [S(x(2, 3), x(2, 3), alpha=2), S(x(2, 3), 3, alpha=2)]),
    "mul": _binary(),
    "div": _binary(nz)
    + [S(x(2, 3), nz(2, 3), rounding_mode=mode).but("bool") for mode in ("trunc", "floor")]
    + [S(x(2, 3), 2, rounding_mode="floor")],
    "floor_divide": _binary(nz),
    "remainder": _binary(nz),
    "remainder_number": _of_number(7, nz) + [S(-2.5, nz(2, 3))],
    "fmod": _binary(nz),
    "pow": [S(pos(2, 3), 2), S(x(2, 3), 3), S(pos(0, 3), 2)]
    + but(BOOL, [S(pos(2, 3), unit(2, 3)), S(pos(3), pos(2, 1)), S(pos(), pos())]),
    "float_power": _binary(pos) + [S(pos(2, 3), x(2, 3)), S(pos(3), -0.5)],
    "float_power_number": _of_number(2) + [S(0.5, x(3))],
    "float_power_": [
        S(pos(2, 3), 2).but(*(set(DTYPES) - {"float64"})),
        S(pos(2, 3), x(3)).but(*(set(DTYPES) - {"float64"})),
    ],
    "pow_number": [S(2.0, x(2, 3)), S(3, pos(2, 3)), S(1, x(0, 3)), S(0.5, x())],
    "maximum": _binary(number=None) + [S(special(30), special(30))],
    "minimum": _binary(number=None) + [S(special(30), special(30))],
    "max_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    "min_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    **{
        op: _binary(number=None) + [S(special(30), special(30)), S(x(30), special(30))]
        for op in ("fmax", "fmin", "atan2", "heaviside")
    },
    "copysign": _binary() + [S(special(30), special(30)), S(x(2, 3), -0.0)],
    "nextafter": _binary(number=None) + [S(special(30), special(30)), S(special(30), unit(30))],
    "xlogy": _binary(pos) + [S(special(30), special(30))],
    "xlogy_number": _of_number(2, pos) + [S(0.0, special(30))],
    "ldexp": _binary(number=None)
    + [S(special(15), fixed(np.array([1, -3, 5, -12, 0] * 3))), S(x(2, 3), fixed(np.array([3, 0, -2])))],
    "hypot": _binary(number=None),
    "logaddexp": _binary(number=None),
    "logaddexp2": _binary(number=None),
    **{op: but(FLOATS + ["bool"], _binary(number=None)) for op in ("gcd", "lcm")},
    **{op: _binary() + [S(special(30), special(30))] for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    "equal": [S(x(2, 3), x(2, 3)), S(fixed(np.arange(3.0)), fixed(np.arange(3.0))), S(x(2, 3), x(3, 2))],
    **{op: _binary(number=None) for op in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": unary(),
    **{op: _binary(number=None) for op in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{f"bitwise_{op}_number": but(FLOATS, _of_number(6) + [S(True, x(3))]) for op in ("and", "or", "xor")},
    **{
        f"bitwise_{side}_shift": but([*FLOATS, "bool"], _binary(number=None))
        + but(FLOATS, [S(x(2, 3), 2), S(special(38), fixed(np.arange(-4, 72, 2)))])
        for side in ("left", "right")
    },
    **{f"bitwise_{side}_shift_number": but(FLOATS, _of_number(100)) for side in ("left", "right")},
    "bitwise_not": but(FLOATS, unary()),
    "where": [
        S(mask(2, 3), x(2, 3), x(2, 3)),
        S(mask(3), x(2, 1), x(2, 3)),
        S(mask(2, 3), x(2, 3), x()),
        S(mask(0, 3), x(0, 3), x(3)),
    ],
    "lerp": [
        S(x(2, 3), x(2, 3), 0.25),
        S(x(2, 3), x(3), 0.75),
        S(x(2, 3), x(2, 3), unit(2, 3)),
        S(x(0, 3), x(3), 1),
    ],
    "addcmul": [S(x(2, 3), x(2, 3), x(2, 3)), S(x(2, 1), x(3), x(2, 3), value=2), S(x(0, 3), x(3), x())],
    "addcdiv": [
        s.but(*WHOLE)
        for s in (S(x(2, 3), x(2, 3), nz(2, 3)), S(x(2, 1), x(3), nz(2, 3), value=2), S(x(0, 3), x(3), nz(3)))
    ],
}


# ---- NumPy's side ----
def _truncated(a, b):
    return np.trunc(a / b) if a.dtype.kind == "f" else (np.sign(a) * np.sign(b) * (abs(a) // abs(b)))


def _div(a, b, rounding_mode=None):
    if rounding_mode is None:
        return np.true_divide(a, b)
    return np.floor_divide(a, b) if rounding_mode == "floor" else _truncated(a, b)


NUMPY = {
    "add": lambda a, b, alpha=1: a + alpha * b,
    "sub": lambda a, b, alpha=1: a - alpha * b,
    "remainder": np.mod,
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "xlogy_number": lambda a, b: np.where((a == 0) & (b == b), 0, a * np.log(b)),
    "equal": lambda a, b: np.array(np.array_equal(a, b)),
    "mul": np.multiply,
    "div": _div,
    "rsub": lambda a, b, alpha=1: b - alpha * a,
    "fmod": np.fmod,
    "remainder_number": np.mod,
    **{f"float_power{kind}": lambda a, b: np.asarray(a, np.float64) ** b for kind in ("", "_number", "_")},
    "pow_number": lambda a, b: float(a) ** b,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "atan2": np.arctan2,
    "heaviside": lambda a, b: np.where(a == 0, b, a > 0),
    "copysign": np.copysign,
    "xlogy": lambda a, b: np.where((a == 0) & (b == b), 0, a * np.log(b)),
    "ldexp": lambda a, b: a * 2.0**b,
    "logaddexp2": np.logaddexp2,
    "gcd": np.gcd,
    "bitwise_and_number": lambda a, b: a & b,
    "bitwise_or_number": lambda a, b: a | b,
    "bitwise_xor_number": lambda a, b: a ^ b,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "max_other": np.maximum,
    "min_other": np.minimum,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.bitwise_not,
    "where": np.where,
    "addcmul": lambda a, b, c, value=1: a + value * b * c,
    "addcdiv": lambda a, b, c, value=1: a + value * b / c,
}
PYTORCH = {
    "equal": lambda torch: lambda a, b: torch.tensor(torch.equal(a, b)),
}
