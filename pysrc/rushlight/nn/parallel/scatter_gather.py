"""Splitting tensors among GPUs and joining them again, in trees of Python's containers."""

from __future__ import annotations

import warnings

from rushlight import _C, _deprecated, _missing
from rushlight._utils import _get_device_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["gather", "scatter", "scatter_kwargs"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def _is_namedtuple(obj):
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


@_deprecated.deprecated(
    "`is_namedtuple` is deprecated, please use the python checks instead", category=FutureWarning
)
def is_namedtuple(obj: Any) -> bool:
    """Return whether an object is of a class that collections.namedtuple or typing.NamedTuple made."""
    return _is_namedtuple(obj)


def _split(tensor, devices, dim):
    indices = [_get_device_index(each, True) for each in devices]
    if not indices:
        raise RuntimeError("Expected at least one device to scatter to")
    pieces = tensor.chunk(len(indices), dim)
    return tuple(piece.to(_C.device("cuda", index)) for piece, index in zip(pieces, indices))


def _scattered(obj, devices, dim):
    if isinstance(obj, _C.Tensor):
        return _split(obj, devices, dim)
    if not isinstance(obj, (tuple, list, dict)) or not (obj or _is_namedtuple(obj)):
        return [obj for _ in devices]
    parts = zip(*(_scattered(each, devices, dim) for each in (obj.items() if isinstance(obj, dict) else obj)))
    if _is_namedtuple(obj):
        return [type(obj)(*part) for part in parts]
    if isinstance(obj, tuple):
        return list(parts)
    return [list(part) if isinstance(obj, list) else type(obj)(part) for part in parts]


def scatter(inputs: Any, target_gpus: Sequence[int | _C.device], dim: int = 0) -> Any:
    """Split tensors into pieces of about equal size, one for each GPU.

    Parameters
    ----------
    inputs : object
        A tensor, or tuples, lists and dicts with tensors in them. What is no tensor goes to every GPU.
    target_gpus : sequence of int or device
        The GPUs.
    dim : int, default 0
        Along which tensors are split.

    Returns
    -------
    tuple of Tensor or list
        The pieces of a tensor; else one tree for each GPU. A tensor too short for all gives fewer.

    Raises
    ------
    ValueError
        If a device is the CPU.

    Notes
    -----
    Gradients of the pieces flow back into the tensor. Same as torch.nn.parallel.scatter:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.parallel.DataParallel.html
    """
    return _scattered(inputs, target_gpus, dim)


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[int | _C.device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split positional and keyword arguments of a call: those of each GPU's call.

    See scatter. Where one of the two gives fewer than the other, empty ones follow.
    """
    split = list(_scattered(inputs, target_gpus, dim)) if inputs else []
    named = list(_scattered(kwargs, target_gpus, dim)) if kwargs else []
    split += [()] * (len(named) - len(split))
    named += [{} for _ in range(len(split) - len(named))]
    return tuple(split), tuple(named)


def _join(tensors, target, dim):
    if any(each.device.type == "cpu" for each in tensors):
        raise AssertionError("Gather function not implemented for CPU tensors")
    device = _C.device("cpu") if target == "cpu" else _C.device("cuda", _get_device_index(target, True))
    if dim == 0 and all(each.dim() == 0 for each in tensors):
        warnings.warn(
            "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
            "unsqueeze and return a vector.",
            stacklevel=4,
        )
        tensors = [each.view(1) for each in tensors]
    return _C.cat([each.to(device) for each in tensors], dim)


def _gathered(outputs, target, dim):
    first = outputs[0]
    if isinstance(first, _C.Tensor):
        return _join(outputs, target, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(each) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, _gathered([each[key] for each in outputs], target, dim)) for key in first)
    joined = (_gathered(each, target, dim) for each in zip(*outputs, strict=True))
    return type(first)._make(joined) if _is_namedtuple(first) else type(first)(joined)


def gather(outputs: Any, target_device: int | _C.device | str, dim: int = 0) -> Any:
    """Join the tensors of several GPUs on one device.

    Parameters
    ----------
    outputs : sequence
        A tensor, or a tree of tuples, lists and dicts with tensors in them, of each GPU.
    target_device : int, device or str
        A GPU, or "cpu".
    dim : int, default 0
        Along which they are joined. Scalars become a vector.

    Returns
    -------
    object
        One tensor or tree.

    Raises
    ------
    AssertionError
        If one of the tensors lies on the CPU.
    ValueError
        If dicts have different numbers of keys.

    Notes
    -----
    Gradients flow back to the GPUs. Same as torch.nn.parallel.gather:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.parallel.DataParallel.html
    """
    return _gathered(outputs, target_device, dim)
