"""Activations."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)

from ._activation_exponential import CELU, ELU, GELU, SELU, Softplus
from ._activation_rectified import (
    Hardtanh,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Threshold,
    _Inplace,
    _inplace_text,
)
from ._activation_sigmoid import GLU, Hardsigmoid, Hardswish, LogSigmoid, Mish, Sigmoid, SiLU, Softsign, Tanh
from ._activation_softmax import (
    Hardshrink,
    LogSoftmax,
    Softmax,
    Softmax2d,
    Softmin,
    Softshrink,
    Tanhshrink,
    _Shrink,
    _Softmax,
)
from ._multihead import MultiheadAttention
from .module import Module  # noqa: F401  (scripts import these from here)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]

_homes.adopt(
    __name__,
    _inplace_text,
    _Inplace,
    ReLU,
    Hardtanh,
    ReLU6,
    LeakyReLU,
    RReLU,
    PReLU,
    Threshold,
    Sigmoid,
    Tanh,
    SiLU,
    Mish,
    Hardswish,
    Hardsigmoid,
    GLU,
    Softsign,
    LogSigmoid,
    SELU,
    ELU,
    CELU,
    GELU,
    Softplus,
    _Shrink,
    Hardshrink,
    Softshrink,
    Tanhshrink,
    _Softmax,
    Softmax,
    LogSoftmax,
    Softmin,
    Softmax2d,
)
