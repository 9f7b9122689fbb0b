"""Conditions that programs check: ``torch._check`` and its kin, ``torch._assert``."""

from __future__ import annotations

import warnings

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._C import Tensor

_USUAL = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check_with(error_type: type[Exception], cond: bool, message: Callable[[], Any] | None) -> None:
    """Raise an exception unless a bool is True; message is called for its text."""
    if isinstance(cond, _C.Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to "
            "assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_USUAL if message is None else str(message()))


def _check(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless a bool is True."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError unless a bool is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError unless a bool is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError unless a bool is True."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise NotImplementedError unless a bool is True."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless an integer is 0 or more, and at most max."""
    warnings.warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use "
        "_check(i >= 0) instead.",
        FutureWarning,
        stacklevel=2,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: Callable[[], Any] | None = None
) -> None:
    """Raise an exception unless all elements of a tensor of bools are True."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond: Tensor, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: Any) -> None:
    """Raise AssertionError unless a condition holds; an object may answer by ``__torch_function__``."""
    if type(condition) is not _C.Tensor and _C._has_torch_function_variadic(condition):
        return _C._handle_torch_function(_assert, (condition,), (condition, message), {})
    if not condition:
        raise AssertionError(message)
    return None
