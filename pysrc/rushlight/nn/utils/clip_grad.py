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
    """Compute the norm of several tensors together, as if they were one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensors
        Floating tensors of any shapes and devices.
    norm_type : float, default 2.0
        p of the p-norm; inf counts the largest element.
    error_if_nonfinite : bool, default False
        Raise an error if the norm is NaN or infinite.
    foreach : bool, optional
        Accepted; True is refused on devices where PyTorch has no foreach functions.

    Returns
    -------
    Tensor
        The norm, without dimensions, on the device of the first tensor; 0 without tensors.

    Raises
    ------
    RuntimeError
        If the norm is not finite and `error_if_nonfinite` is set.

    Notes
    -----
    Same as torch.nn.utils.get_total_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.get_total_norm.html

    Examples
    --------
    >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
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
    """Clip the gradients of parameters by a norm that is known, in place.

    Each is multiplied by ``max_norm / (total_norm + 1e-6)`` if that is less than 1.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
        Parameters; those without a gradient are left out.
    max_norm : float
        Largest norm.
    total_norm : Tensor
        Norm of all gradients, as get_total_norm() returns it.
    foreach : bool, optional
        Accepted; True is refused on devices where PyTorch has no foreach functions.

    Notes
    -----
    Same as torch.nn.utils.clip_grads_with_norm_:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grads_with_norm_.html

    Examples
    --------
    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> nn.utils.clip_grads_with_norm_([w], 1.0, nn.utils.get_total_norm([w.grad]))
    >>> w.grad
    tensor([0.6000, 0.8000])
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
    """Clip the norm of the gradients of parameters, in place.

    All gradients count as one vector. If its norm is larger than `max_norm`, each is multiplied by
    ``max_norm / (norm + 1e-6)``. It is called between ``loss.backward()`` and ``optimizer.step()``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
        Parameters; those without a gradient are left out.
    max_norm : float
        Largest norm.
    norm_type : float, default 2.0
        p of the p-norm; inf counts the largest element.
    error_if_nonfinite : bool, default False
        Raise an error if the norm is NaN or infinite.
    foreach : bool, optional
        Accepted; True is refused on devices where PyTorch has no foreach functions.

    Returns
    -------
    Tensor
        Norm before the clipping, without dimensions.

    Raises
    ------
    RuntimeError
        If the norm is not finite and `error_if_nonfinite` is set.

    Notes
    -----
    Same as torch.nn.utils.clip_grad_norm_:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_norm_.html

    Examples
    --------
    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
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
    """Clip the norm of the gradients of parameters. Deprecated, with a warning: use clip_grad_norm_().

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
        Parameters; those without a gradient are left out.
    max_norm : float
        Largest norm.
    norm_type : float, default 2.0
        p of the p-norm; inf counts the largest element.
    error_if_nonfinite : bool, default False
        Raise an error if the norm is NaN or infinite.
    foreach : bool, optional
        Accepted; True is refused on devices where PyTorch has no foreach functions.

    Returns
    -------
    Tensor
        Norm before the clipping, without dimensions.
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clip the elements of the gradients of parameters to [-clip_value, clip_value], in place.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
        Parameters; those without a gradient are left out.
    clip_value : float
        Largest element; NaN in a gradient stays.
    foreach : bool, optional
        Accepted; True is refused on devices where PyTorch has no foreach functions.

    Notes
    -----
    Same as torch.nn.utils.clip_grad_value_:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_value_.html

    Examples
    --------
    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([0.5, -4.0])
    >>> nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 0.5000, -1.0000])
    """
    clip_value = float(clip_value)
    with rushlight.no_grad():
        for _, group in _by_device(_gradients(parameters), foreach):
            for gradient in group:
                gradient.clamp_(min=-clip_value, max=clip_value)
