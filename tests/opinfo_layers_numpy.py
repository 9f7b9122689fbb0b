"""NumPy's answers to the samples of tests/opinfo_layers.py, as in tests/opinfo_numpy.py."""

import math

import numpy as np


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


def _layer_norm(a, shape, weight=1, bias=0, eps=1e-5):
    axes = tuple(range(-len(shape), 0))
    a = (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + eps)
    return a * (1 if weight is None else weight) + bias


def _rms_norm(a, shape, weight=1, eps=0):
    return a / np.sqrt((a * a).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps) * weight


def _group_norm(a, groups, weight=None, bias=None, eps=1e-5):
    flat = a.reshape(a.shape[0], groups, math.prod(a.shape[1:]) // groups)
    flat = (flat - flat.mean(2, keepdims=True)) / np.sqrt(flat.var(2, keepdims=True) + eps)
    a, channels = flat.reshape(a.shape), (-1, *[1] * (a.ndim - 2))
    a = a if weight is None else a * weight.reshape(channels)
    return a if bias is None else a + bias.reshape(channels)


def _norm(a, p=2, dim=None, keepdim=False):
    a, axis = abs(a), dim
    if math.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdim)
    if p == 0:
        return (a != 0).sum(axis=axis, keepdims=keepdim).astype(float)
    return (a**p).sum(axis=axis, keepdims=keepdim) ** (1 / p)


def _addmm(a, b, c, beta=1, alpha=1):
    product = alpha * np.matmul(b, c)
    return product + beta * a if beta else product


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
    "dot": np.dot,
    "mv": np.matmul,
    "mm": np.matmul,
    "bmm": np.matmul,
    "addmm": _addmm,
    "baddbmm": _addmm,
    "outer": np.outer,
    "ger": np.outer,
    "addcmul": lambda a, b, c, value=1: a + value * b * c,
    "addcdiv": lambda a, b, c, value=1: a + value * b / c,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "linalg_vector_norm": _norm,
    "norm": _norm,
    "embedding": lambda a, i, padding_idx=-1: a[i],
    "tril": np.tril,
    "triu": np.triu,
    "nonzero": lambda a, as_tuple=False: np.nonzero(np.atleast_1d(a)) if as_tuple else np.argwhere(a),
    "masked_select": lambda a, m: np.broadcast_to(a, np.broadcast_shapes(a.shape, m.shape))[
        np.broadcast_to(m, np.broadcast_shapes(a.shape, m.shape))
    ],
    "roll": np.roll,
    "flip": np.flip,
    "repeat": np.tile,
    "tile": np.tile,
    "repeat_interleave": np.repeat,
    "swapaxes": np.swapaxes,
    "diagonal": np.diagonal,
    "diag": np.diag,
}
