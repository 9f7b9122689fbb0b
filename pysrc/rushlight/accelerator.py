"""The device besides the CPU, whichever it is: an NVIDIA GPU where rushlight finds one."""

from __future__ import annotations

from . import _C, _missing, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import device
    from rushlight.types import Device

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available"]
__all__ += ["max_memory_allocated", "memory_allocated", "set_device_index", "synchronize"]
__getattr__ = _missing.lacks(__name__)


def device_count() -> int:
    """Return the number of devices."""
    return cuda.device_count()


def is_available() -> bool:
    """Whether there is a device that can be used."""
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the device without its number, or None where there is none."""
    return _C.device("cuda") if is_available() else None


def _device():
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def current_device_index() -> int:
    """Return the number of the device in use."""
    return _device().current_device()


def set_device_index(device: Device, /) -> None:
    """Choose a device."""
    _device().set_device(device)


def synchronize(device: Device = None, /) -> None:
    """Wait until the device has finished."""
    _device().synchronize(device)


def empty_cache() -> None:
    """Give unused memory back to the device."""
    _device().empty_cache()


def memory_allocated(device_index: device | str | int | None = None, /) -> int:
    """Return the bytes in use."""
    return _device().memory_allocated(device_index)


def max_memory_allocated(device_index: device | str | int | None = None, /) -> int:
    """Return the most bytes that were in use."""
    return _device().max_memory_allocated(device_index)
