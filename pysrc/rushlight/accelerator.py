"""The device besides the CPU, whichever it is: an NVIDIA GPU where rushlight finds one."""

from __future__ import annotations

from . import _C, _missing, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import device
    from rushlight.types import Device

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available"]
__all__ += ["current_device_idx", "current_stream", "device_index", "get_memory_info"]
__all__ += ["max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"]
__all__ += ["memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx"]
__all__ += ["set_device_index", "set_stream", "synchronize"]
__getattr__ = _missing.module_getattr(__name__)


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


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:  # noqa: N801 - PyTorch's name
    """A block of code with another current device.

    Parameters
    ----------
    device : int, optional
        Its number; None changes nothing.
    """

    def __init__(self, device: int | None, /):
        self.idx, self.prev_idx = device, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def current_stream(device: Device = None, /) -> Any:
    """Return this thread's current stream on the device."""
    return _device().current_stream(device)


def set_stream(stream: Any) -> None:
    """Make a stream, and its device, this thread's current ones."""
    _device().set_stream(stream)


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


def memory_reserved(device_index: device | str | int | None = None, /) -> int:
    """Return the bytes that were asked of the device and not given back."""
    return _device().memory_reserved(device_index)


def max_memory_reserved(device_index: device | str | int | None = None, /) -> int:
    """Return the most bytes that were reserved at once."""
    return _device().max_memory_reserved(device_index)


def memory_stats(device_index: device | str | int | None = None, /) -> dict[str, Any]:
    """Return the allocator's counters."""
    return _device().memory_stats(device_index)


def get_memory_info(device_index: device | str | int | None = None, /) -> tuple[int, int]:
    """Return the bytes of the device that are free, and all."""
    return _device().mem_get_info(device_index)


def reset_peak_memory_stats(device_index: device | str | int | None = None, /) -> None:
    """Make the peaks what is in use now."""
    _device().reset_peak_memory_stats(device_index)


def reset_accumulated_memory_stats(device_index: device | str | int | None = None, /) -> None:
    """Count what is allocated and freed from zero again."""
    _device().reset_accumulated_memory_stats(device_index)
