"""Gradients: the engine's entry points and the switches for recording.

See https://docs.pytorch.org/docs/2.13/autograd.html
"""

from rushlight import _C, _exports

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

Variable = _C.Tensor
_exports.publish(globals())
