"""Samples and NumPy's answers: activations."""

import numpy as np

from op_samples.pytorch import aten, dense_aten
from op_samples.sample import BOOL, S, but, pairs, special, unary, x

SAMPLES = {
    "relu": but(BOOL, unary()),
    "gelu": [S(x(2, 3, 4)), S(x(0, 3)), S(x()), S(x(2, 3), approximate="tanh")],
    "silu": unary(),
    "leaky_relu": unary([S(x(2, 3), 0.2)]),
    "elu": unary([S(x(2, 3), 0.5)]),
    "celu": unary([S(x(2, 3), 0.5), S(x(2, 3), -2)]),
    **{name: unary() for name in ("selu", "hardswish", "hardsigmoid", "mish", "log_sigmoid")},
    "relu6": but(BOOL, unary([S(x(2, 3, high=9))])),
    "relu6_": but(BOOL, [S(x(2, 3, high=9))]),
    "hardtanh": [s.but("uint8") for s in unary([S(x(2, 3), -2, 3)])] + [S(x(2, 3), 0, 2)],
    "softplus": unary([S(x(2, 3), 2, 1), S(x(2, 3), beta=0.5)]),
    "prelu": [S(x(2, 3, 4), x(3)), S(x(2, 3, 4), x(1)), S(x(5), x(1)), S(x(), x()), S(x(0, 3), x(3))],
    "rrelu": unary(
        [S(x(20), training=True).but("float16"), S(x(4, 5), 0.1, 0.9, True).but("float16"), S(x(9), 0.5, 0.5)]
    ),
    "threshold": [S(special(30), 1, 2), S(x(2, 3, 4), 0, 0), S(x(0, 3), 1, 2), S(x(), 1, 2)],
    "softshrink": unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "hardshrink": unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "glu": [S(x(2, 6)), S(x(4, 3), 0), S(x(2, 4, 3), -2), S(x(0, 4)), S(special(30))],
}
BACKWARD = {
    "gelu_backward": pairs() + pairs(approximate="tanh")[1:],  # NaN in theirs far out
    "silu_backward": pairs(),
    "leaky_relu_backward": pairs(0.1),
    "elu_backward": pairs(1.5, 1, 1) + pairs(1.7, 1.1, 0.5),
    "hardtanh_backward": pairs(-1, 2),
    "softplus_backward": pairs(1, 20) + pairs(2, 1),
    "hardswish_backward": pairs(),
    "hardsigmoid_backward": pairs(),
    "mish_backward": pairs(),
    "log_sigmoid_backward": pairs(),
    "threshold_backward": [
        S(x(30), special(30), 0),
        S(x(2, 3, 4), x(2, 3, 4), 0),
        S(x(5, 7), x(5, 7), 1),
        S(x(0, 3), x(0, 3), 0),
        S(x(), x(), 0),
    ],
    "shrink_backward": pairs(0.5),
}
RANDOM = {"rrelu"}


# ---- NumPy's side ----
def _prelu(a, weight):
    if weight.size > 1:
        weight = weight.reshape(-1, *[1] * (a.ndim - 2))
    return np.where(a > 0, a, a * weight)


def _glu(a, dim=-1):
    first, second = np.split(a, 2, dim)
    return first / (1 + np.exp(-second))


NUMPY = {
    "relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "silu": lambda a: a / (1 + np.exp(-a)),
    "leaky_relu": lambda a, slope=0.01: np.where(a > 0, a, slope * a),
    "elu": lambda a, alpha=1.0: np.where(a > 0, a, alpha * np.expm1(a)),
    "celu": lambda a, alpha=1.0: np.where(a > 0, a, alpha * np.expm1(a / alpha)),
    "selu": lambda a: 1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(a)),
    "relu6": lambda a: np.clip(a, 0, 6),
    "relu6_": lambda a: np.clip(a, 0, 6),
    "hardtanh": lambda a, low=-1, high=1: np.clip(a, low, high),
    "softplus": lambda a, beta=1, threshold=20: np.where(
        a * beta > threshold, a, np.log1p(np.exp(a * beta)) / beta
    ),
    "hardswish": lambda a: a * np.clip(a + 3, 0, 6) / 6,
    "hardsigmoid": lambda a: np.clip(a + 3, 0, 6) / 6,
    "mish": lambda a: a * np.tanh(np.log1p(np.exp(a))),
    "log_sigmoid": lambda a: np.minimum(a, 0) - np.log1p(np.exp(-abs(a))),
    "prelu": _prelu,
    "threshold": lambda a, limit, value: np.where(a <= limit, a.dtype.type(value), a),
    "softshrink": lambda a, lambd=0.5: np.sign(a) * np.maximum(abs(a) - lambd, 0),
    "hardshrink": lambda a, lambd=0.5: np.where(abs(a) <= lambd, 0, a),
    "glu": _glu,
}


# ---- PyTorch's side ----
def _elu(torch):
    return lambda grad, source, *numbers: torch.ops.aten.elu_backward(grad, *numbers, False, source)


def _log_sigmoid(torch):
    def run(grad, source):
        buffer = torch.exp(-source.detach().abs())
        return torch.ops.aten.log_sigmoid_backward(grad, source, buffer)

    return run


PYTORCH = {
    **{
        name: aten(name)
        for name in (
            *("hardtanh_backward", "hardsigmoid_backward"),
            *("hardswish_backward", "softplus_backward", "silu_backward", "mish_backward", "gelu_backward"),
        )
    },
    "threshold_backward": dense_aten("threshold_backward"),
    "leaky_relu_backward": aten("leaky_relu_backward", False),
    "shrink_backward": aten("hardshrink_backward"),
    "elu_backward": _elu,
    "log_sigmoid_backward": _log_sigmoid,
}
