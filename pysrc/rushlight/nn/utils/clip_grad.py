"""Keeping gradients within bounds."""

import math
import types
import warnings

import rushlight
from rushlight._C import Tensor

from ._norms import vector_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _gradients(parameters):
    return [p.grad for p in parameters if p.grad is not None]


def _get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return rushlight.tensor(0.0)
    with rushlight.no_grad():
        norms = [vector_norm(t, norm_type).to(tensors[0].device) for t in tensors]
        total = vector_norm(rushlight.stack(norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


def _clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None) -> None:
    """Scale all gradients so that a total norm of ``total_norm`` becomes at most ``max_norm``."""
    gradients = _gradients([parameters] if isinstance(parameters, Tensor) else parameters)
    max_norm = float(max_norm)
    if not gradients:
        return
    with rushlight.no_grad():
        # multiplying by 1 costs less than asking the device whether it would be 1
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients in place so that their total norm is at most ``max_norm``; return what it was."""
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    else:
        lazily = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if lazily and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
            )
    total = _get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated: clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None) -> None:
    """Cut the gradients in place to the range from -clip_value to clip_value."""
    clip_value = float(clip_value)
    with rushlight.no_grad():
        for gradient in _gradients([parameters] if isinstance(parameters, Tensor) else parameters):
            gradient.clamp_(min=-clip_value, max=clip_value)
