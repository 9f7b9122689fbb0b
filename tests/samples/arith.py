"""Samples and NumPy's answers: arithmetic, comparisons and logic of two or more elements."""

import numpy as np

from samples.sample import BOOL, FLOATS, WHOLE, S, but, fixed, mask, nz, pos, special, unary, unit, x


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


SAMPLES = {
    "add": _binary() + [S(x(2, 3), x(2, 3), alpha=2), S(x(2, 3), 3, alpha=2)],
    "sub": but(BOOL, _binary() + [S(x(2, 3), x(2, 3), alpha=2)]),
    "mul": _binary(),
    "div": _binary(nz)
    + [S(x(2, 3), nz(2, 3), rounding_mode=mode).but("bool") for mode in ("trunc", "floor")]
    + [S(x(2, 3), 2, rounding_mode="floor")],
    "floor_divide": _binary(nz),
    "remainder": _binary(nz),
    "pow": [S(pos(2, 3), 2), S(x(2, 3), 3), S(pos(0, 3), 2)]
    + but(BOOL, [S(pos(2, 3), unit(2, 3)), S(pos(3), pos(2, 1)), S(pos(), pos())]),
    "maximum": _binary(number=None) + [S(special(30), special(30))],
    "minimum": _binary(number=None) + [S(special(30), special(30))],
    "max_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    "min_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    "hypot": _binary(number=None),
    "logaddexp": _binary(number=None),
    **{op: _binary() + [S(special(30), special(30))] for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    "equal": [S(x(2, 3), x(2, 3)), S(fixed(np.arange(3.0)), fixed(np.arange(3.0))), S(x(2, 3), x(3, 2))],
    **{op: _binary(number=None) for op in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": unary(),
    **{op: _binary(number=None) for op in ("bitwise_and", "bitwise_or", "bitwise_xor")},
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
    "mul": np.multiply,
    "div": _div,
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
