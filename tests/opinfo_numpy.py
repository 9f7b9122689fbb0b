"""NumPy's answers to the samples of tests/opinfo.py, by the ids of the rows.

Each takes the arrays of a sample: floats as float64, integers in the dtype under test.
"""

import math

import numpy as np


def _numpy_erf(a):
    return np.vectorize(math.erf, otypes=[np.float64])(a) if a.size else a


def _sum_like(reduce):
    def run(a, dim=None, keepdim=False, dtype=None):
        return reduce(a, axis=dim if dim != () else None, keepdims=keepdim)

    return run


def _variance(a, dim=None, correction=1, keepdim=False):
    return np.var(a, axis=dim, ddof=correction, keepdims=keepdim)


def _softmax(a, dim):
    e = np.exp(a - a.max(axis=dim, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=dim, keepdims=True)


def _with_indices(value, where):
    def run(a, dim, keepdim=False):
        return value(a, axis=dim, keepdims=keepdim), where(a, axis=dim, keepdims=keepdim)

    return run


def _linear(a, weight, bias=None):
    out = a @ weight.T
    return out if bias is None else out + bias


def _pair(v):
    return v if isinstance(v, tuple) else (v, v)


def _windows(a, kernel, stride, dilation):
    """(..., outH, outW, kH, kW) windows of (..., H, W)."""
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    w = np.lib.stride_tricks.sliding_window_view(a, span, axis=(-2, -1))
    return w[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _conv2d(a, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    stride, dilation, kernel = _pair(stride), _pair(dilation), weight.shape[2:]
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel)]
        sides = [(t // 2, t - t // 2) for t in total]
    else:
        sides = [(p, p) for p in _pair(padding)]
    a = np.pad(a, [(0, 0)] * (a.ndim - 2) + sides)
    windows = _windows(a, kernel, stride, dilation)
    per = weight.shape[0] // groups
    outs = []
    for g in range(groups):
        part = windows[..., g * weight.shape[1] : (g + 1) * weight.shape[1], :, :, :, :]
        outs.append(np.einsum("...chwij,ocij->...ohw", part, weight[g * per : (g + 1) * per]))
    out = np.concatenate(outs, axis=-3)
    return out if bias is None else out + bias[:, None, None]


def _max_pool2d(a, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    kernel, dilation, padding = _pair(kernel), _pair(dilation), _pair(padding)
    stride = _pair(stride or kernel)
    least = -np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
    sides = [(0, 0)] * (a.ndim - 2)
    for size, k, s, p, d in zip(a.shape[-2:], kernel, stride, padding, dilation):
        rest = size + 2 * p - d * (k - 1) - 1
        extra = (-rest) % s if ceil_mode and (rest // s + 1) * s < size + p else 0
        sides.append((p, p + extra))
    windows = _windows(np.pad(a, sides, constant_values=least), kernel, stride, dilation)
    return windows.max(axis=(-2, -1), initial=least) if windows.size == 0 else windows.max(axis=(-2, -1))


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
    "hypot": np.hypot,
    "minimum": np.minimum,
    "max_other": np.maximum,
    "min_other": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.bitwise_not,
    "logical_not": np.logical_not,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "where": np.where,
    "abs": np.abs,
    "neg": np.negative,
    "sign": lambda a: a if a.dtype == bool else np.where(np.isnan(a), 0, np.sign(a)),
    "square": np.square,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "reciprocal": lambda a: 1 / np.asarray(a, dtype=np.float64),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _numpy_erf,
    "sigmoid": lambda a: 1 / (1 + np.exp(-np.asarray(a, dtype=np.float64))),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "clamp": lambda a, min=None, max=None: np.clip(a, min, max),
    "silu": lambda a: a / (1 + np.exp(-a)),
    "leaky_relu": lambda a, slope=0.01: np.where(a > 0, a, slope * a),
    "elu": lambda a, alpha=1.0: np.where(a > 0, a, alpha * np.expm1(a)),
    "hardtanh": lambda a, low=-1, high=1: np.clip(a, low, high),
    "masked_fill": lambda a, m, value: np.where(m, a.dtype.type(value), a),
    "sum": _sum_like(np.sum),
    "prod": _sum_like(np.prod),
    "mean": _sum_like(np.mean),
    "amax": _sum_like(np.max),
    "amin": _sum_like(np.min),
    "any": _sum_like(np.any),
    "all": _sum_like(np.all),
    "max": np.max,
    "min": np.min,
    "max_dim": _with_indices(np.max, np.argmax),
    "min_dim": _with_indices(np.min, np.argmin),
    "argmax": _sum_like(np.argmax),
    "argmin": _sum_like(np.argmin),
    "var": _variance,
    "std": lambda *args, **kwargs: np.sqrt(_variance(*args, **kwargs)),
    "softmax": _softmax,
    "log_softmax": lambda a, dim: np.log(_softmax(a, dim)),
    "matmul": np.matmul,
    "linear": _linear,
    "conv2d": _conv2d,
    "max_pool2d": _max_pool2d,
    "view": np.reshape,
    "reshape": np.reshape,
    "permute": np.transpose,
    "transpose": np.swapaxes,
    "t": np.transpose,
    "squeeze": np.squeeze,
    "unsqueeze": np.expand_dims,
    "select": lambda a, dim, i: np.take(a, i, axis=dim),
    "chunk": lambda a, n, dim=0: np.split(
        a, range(-(-a.shape[dim] // n), a.shape[dim], -(-a.shape[dim] // n)), dim
    ),
    "unbind": lambda a, dim=0: [np.take(a, i, axis=dim) for i in range(a.shape[dim])],
    "clone": lambda a: a,
    "contiguous": lambda a: a,
    "cat": np.concatenate,
    "stack": np.stack,
    "index_select": lambda a, dim, i: np.take(a, i, axis=dim),
    "copy_": lambda a, b: np.broadcast_to(b, a.shape).astype(a.dtype),
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "full_like": np.full_like,
}
