"""Activations that are operators as they are."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

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
