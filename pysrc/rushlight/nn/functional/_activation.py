"""Activations."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

from ._activation_rectified import (  # noqa: F401
    celu,
    elu,
    hardtanh,
    leaky_relu,
    relu,
    relu6,
    rrelu,
    selu,
    threshold,
)
from ._activation_smooth import (  # noqa: F401
    _get_softmax_dim,
    glu,
    hardsigmoid,
    hardswish,
    log_softmax,
    mish,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
)

gelu = _nn.gelu
hardshrink = _C.hardshrink
logsigmoid = _nn.log_sigmoid
prelu = _C.prelu
softplus = _nn.softplus
softshrink = _nn.softshrink
celu_ = _C.celu_
elu_ = _nn.elu_
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
relu_ = _C.relu_
rrelu_ = _C.rrelu_
selu_ = _C.selu_
threshold_ = _C.threshold_
