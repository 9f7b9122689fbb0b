"""Classes and exceptions that programs look for; making a FakeTensor raises NotImplementedError."""

from __future__ import annotations

from rushlight import _C, _missing
from rushlight.utils._python_dispatch import TorchDispatchMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
_INSTEAD = 'tensors without data are on the meta device, torch.device("meta")'


class UnsupportedFakeTensorException(RuntimeError):
    """A call that cannot be done without data."""


class DynamicOutputShapeException(RuntimeError):
    """An operator the shape of whose result depends on data."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(DynamicOutputShapeException):
    """An operator whose result is a number of the data."""


class UnsupportedOperatorException(DynamicOutputShapeException):
    """An operator of which it is not known what it makes."""


class MetadataMismatchError(RuntimeError):
    """A result of another dtype, device or shape than was said."""


class FakeTensor(_C.Tensor):
    """A tensor without data on a device that need not be there: never made."""

    def __new__(cls, *args, **kwargs):
        raise _missing.refuse(f"FakeTensor: {_INSTEAD}")


class FakeTensorMode(TorchDispatchMode):
    """The mode in which tensors would be fake: it cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _missing.refuse(f"FakeTensorMode: {_INSTEAD}")


def is_fake(x: object) -> bool:
    """Whether an object is a fake tensor: never."""
    return False


def unset_fake_temporarily() -> Any:
    """Return a context in which no fake mode is on, as everywhere."""
    import contextlib

    return contextlib.nullcontext()
