"""Keeping gradients within bounds."""

from __future__ import annotations

import math
import types
import warnings

import rushlight
from rushlight import _C
from rushlight._C import Tensor

from ._norms import vector_norm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]
_LISTED = ("cpu", "cuda", "xpu", "mtia", "privateuseone")


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [grad for p in parameters if (grad := p.grad) is not None]


def _by_device(tensors, foreach):
    """Pairs of a device and its tensors; refuses what ``foreach=True`` cannot be had for."""
    groups = {}
    for t in tensors:
        groups.setdefault(t.device, []).append(t)
    for device in groups if foreach else ():
        if device.type not in _LISTED:
            raise RuntimeError(
                f"foreach=True was passed, but can't use the foreach API on {device.type} tensors"
            )
    return groups.items()


def _norms(tensors, order):
    """The norm of each of these tensors of one device."""
    if tensors[0].device.type == "cpu":
        return rushlight._foreach_norm(tensors, order)
    return [vector_norm(t, order) for t in tensors]


def _get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    Args:
        tensors: an iterable of tensors of any shapes, floating dtypes and devices, or one tensor
        norm_type: the order; inf counts the largest element
        error_if_nonfinite: a norm that is NaN or infinite raises a RuntimeError
        foreach: accepted; True is refused for devices where PyTorch has no lists

    The result is 0-dim, on the first tensor's device; without tensors it is 0.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.get_total_norm.html
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return rushlight.tensor(0.0)
    norms, first = [], tensors[0].device
    with rushlight.no_grad():
        for device, group in _by_device(tensors, foreach):
            own = _norms(group, norm_type)
            norms += own if device == first else [norm.to(first) for norm in own]
        [total] = _norms([rushlight.stack(norms)], norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


def _clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients in place so that a total norm of ``total_norm`` becomes at most ``max_norm``.

    Args:
        parameters: an iterable of tensors, or one, whose ``.grad`` is scaled where there is one
        max_norm: a number
        total_norm: a 0-dim tensor, as get_total_norm() answers it
        foreach: accepted; True is refused for devices where PyTorch has no lists

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grads_with_norm_.html
    """
    gradients = _gradients(parameters)
    max_norm = float(max_norm)
    if not gradients:
        return
    with rushlight.no_grad():
        # multiplying by 1 costs less than asking the device whether it would be 1
        factor = rushlight.clamp(max_norm / (total_norm + 1e-6), max=1.0)
        for device, group in _by_device(gradients, foreach):
            rushlight._foreach_mul_(group, factor.to(device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their total norm is at most ``max_norm``; return what it was.

    get_total_norm() of all gradients, then clip_grads_with_norm_(): their arguments, the same errors.
    ``parameters`` may be a generator; an empty one is warned about.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_norm_.html
    """
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    else:
        lazily = isinstance(parameters, types.GeneratorType | _C._ModuleIterator)
        parameters = list(parameters)
        if lazily and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
            )
    total = _get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated: clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Cut the gradients in place to the range from -clip_value to clip_value.

    Args:
        parameters: an iterable of tensors, or one, whose ``.grad`` is cut where there is one
        clip_value: a number; NaN in a gradient stays
        foreach: accepted; True is refused for devices where PyTorch has no lists

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_value_.html
    """
    clip_value = float(clip_value)
    with rushlight.no_grad():
        for _, group in _by_device(_gradients(parameters), foreach):
            for gradient in group:
                gradient.clamp_(min=-clip_value, max=clip_value)
