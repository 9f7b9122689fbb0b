"""Gradients: the engine's entry points and the switches for recording.

See https://docs.pytorch.org/docs/2.13/autograd.html
"""

from rushlight import _C, _missing

from ._engine import backward, grad
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled

__all__ = [
    "Variable",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

Variable = _C.Tensor
__getattr__ = _missing.lacks(__name__)
