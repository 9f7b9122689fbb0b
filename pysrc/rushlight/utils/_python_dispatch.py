"""``__torch_dispatch__``: rushlight does not call it, and says so.

A :class:`TorchDispatchMode` can be defined and made, so that files which do so import; to enter one raises
NotImplementedError. Questions have their true answer: no mode is ever on. Subclasses of Tensor that hold
other tensors are taken apart and put together as in PyTorch. What observes calls is TorchFunctionMode of
:mod:`rushlight.overrides`, and :mod:`rushlight.profiler`.
"""

from __future__ import annotations

import contextlib

from rushlight import _C, _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
_INSTEAD = "TorchDispatchMode: use torch.overrides.TorchFunctionMode to observe calls"


class TorchDispatchMode:
    """A mode that would answer below autograd; entering it raises NotImplementedError."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        raise _missing.refuse(_INSTEAD)

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        """Never entered."""

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object of the class: ``with cls(...)``."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that would change nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


# ---- which modes are on: none ----
def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on: never."""
    return False


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is on: never."""
    return False


def any_torch_dispatch_mode_on_stack() -> bool:
    """Whether a mode is on: never."""
    return False


def _get_current_dispatch_mode() -> None:
    return None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    return []


def _detect_infra_mode(key: Any) -> None:
    return None


@contextlib.contextmanager
def _disable_current_modes() -> Any:
    yield []


def _push_mode(mode: TorchDispatchMode) -> None:
    raise _missing.refuse(_INSTEAD)


def _pop_mode(k: Any = None) -> Any:
    raise AssertionError("No mode in stack")


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Any:
    yield _pop_mode(k)


# ---- tensors that hold other tensors ----
def _has_protocol(kind):
    return hasattr(kind, "__tensor_flatten__") and hasattr(kind, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is of a subclass of Tensor that says how it is taken apart.

    Such a class has ``__tensor_flatten__(self)``, which returns names of attributes and a context, and
    ``__tensor_unflatten__(inner, context, size, stride)``.
    """
    return isinstance(t, _C.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class is a subclass of Tensor that says how its objects are taken apart."""
    return issubclass(t, _C.Tensor) and t is not _C.Tensor and _has_protocol(t)


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """Return a tensor like `t` of what ``callback(name, tensor)`` makes of the tensors in it.

    Raises AssertionError if the class makes one of another size or stride.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    for what, expected, found in (("shape", size, made.shape), ("stride", stride, made.stride())):
        if tuple(found) != tuple(expected):
            raise AssertionError(
                f"Expected return value from {type(t)}__tensor_unflatten__() to have {what} equal to "
                f"{expected}, but got: {found}"
            )
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What ``__torch_dispatch__`` ends with, which rushlight never calls."""
    raise _missing.refuse("return_and_correct_aliasing")
