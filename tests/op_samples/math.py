"""Samples and NumPy's answers: functions of one element."""

import math

import numpy as np

from op_samples.pytorch import aten
from op_samples.sample import BOOL, WHOLE, S, but, number, pairs, pos, special, unary, unit, x


def _positive():
    return [S(pos(2, 3, 4)), S(special(30)), S(x(0, 3)), S(pos())]


SAMPLES = {
    **{op: but(BOOL, unary()) for op in ("neg", "positive")},
    **{
        op: unary()
        for op in (
            *("abs", "sign", "square", "exp", "sin", "cos", "erf", "tanh", "sigmoid", "floor", "ceil"),
            *("round", "trunc", "frac", "isnan", "isinf", "isfinite", "log1p", "expm1", "log2", "log10"),
            *("exp2", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc"),
            *("erfinv", "sgn", "angle", "deg2rad", "rad2deg", "isposinf", "isneginf", "isreal"),
            *("conj", "real", "conj_physical", "resolve_conj", "resolve_neg"),
        )
    },
    **{op: _positive() for op in ("log", "sqrt", "rsqrt", "reciprocal")},
    "signbit": [S(x(2, 3, 4)), S(number(-0.0)), S(x(0, 3)), S(x())],  # NaN has either sign
    "round_decimals": [S(x(2, 3, 4), decimals=n) for n in (2, -1, 0)]
    + [S(special(30), decimals=1), S(x(0, 3), decimals=3)],
    "nan_to_num": [
        *unary(),
        S(special(30), 1.5),
        S(special(30), nan=2, posinf=3.0, neginf=-4.0),
        S(special(30), 0.0, posinf=1),
    ],
    "frexp": but(WHOLE, unary() + [S(x(6, low=-1e-3, high=1e-3))]),
}
BACKWARD = {
    "sigmoid_backward": pairs(second=unit),
    "tanh_backward": pairs(second=unit),
}


# ---- NumPy's side ----
def _of_floats(function):
    """Whole numbers stay as they are, as in NumPy since 2.1."""
    return lambda a: function(a) if a.dtype.kind == "f" else a


def _erf(a):
    return np.vectorize(math.erf, otypes=[np.float64])(a) if a.size else a


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


NUMPY = {
    **dict.fromkeys(
        ("positive", "conj", "real", "conj_physical", "resolve_conj", "resolve_neg"), lambda a: a
    ),
    "sigmoid_backward": lambda grad, y: grad * y * (1 - y),
    "tanh_backward": lambda grad, y: grad * (1 - y * y),
    "neg": np.negative,
    "abs": np.abs,
    "sign": lambda a: a if a.dtype == bool else np.where(np.isnan(a), 0, np.sign(a)),
    "sgn": lambda a: a if a.dtype == bool else np.where(np.isnan(a), 0, np.sign(a)),
    "signbit": lambda a: np.signbit(a) if a.dtype.kind == "f" else a < 0,
    "angle": lambda a: np.where(np.isnan(a), a, np.where(a < 0, math.pi, 0)),
    "deg2rad": lambda a: np.deg2rad(np.asarray(a, dtype=np.float64)),
    "rad2deg": lambda a: np.rad2deg(np.asarray(a, dtype=np.float64)),
    "isposinf": lambda a: a == math.inf,
    "isneginf": lambda a: a == -math.inf,
    "isreal": np.isreal,
    "frexp": np.frexp,
    "square": np.square,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "erf": _erf,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-np.asarray(a, dtype=np.float64))),
    "reciprocal": lambda a: 1 / np.asarray(a, dtype=np.float64),
    "floor": _of_floats(np.floor),
    "ceil": _of_floats(np.ceil),
    "round": np.round,
    "trunc": _of_floats(np.trunc),
    "frac": lambda a: a - np.trunc(a),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    **{
        name: getattr(np, name) for name in ("log1p", "expm1", "log2", "log10", "exp2", "tan", "sinh", "cosh")
    },
    **{name: getattr(np, "arc" + name[1:]) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "erfc": lambda a: np.vectorize(math.erfc, otypes=[np.float64])(a) if a.size else a,
    "erfinv": _erfinv,
}


# ---- PyTorch's side ----
PYTORCH = {
    "sigmoid_backward": aten("sigmoid_backward"),
    "tanh_backward": aten("tanh_backward"),
}
