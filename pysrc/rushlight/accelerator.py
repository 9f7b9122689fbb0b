"""The device besides the CPU, whichever it is: an NVIDIA GPU where rushlight finds one."""

from . import _C, _missing, cuda

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available"]
__all__ += ["max_memory_allocated", "memory_allocated", "set_device_index", "synchronize"]
__getattr__ = _missing.lacks(__name__)


def device_count():
    """Return the number of devices."""
    return cuda.device_count()


def is_available():
    """Whether there is a device that can be used."""
    return cuda.is_available()


def current_accelerator(check_available=False):
    """Return the device without its number, or None where there is none."""
    return _C.device("cuda") if is_available() else None


def _device():
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def current_device_index():
    """Return the number of the device in use."""
    return _device().current_device()


def set_device_index(device, /):
    """Choose a device."""
    _device().set_device(device)


def synchronize(device=None, /):
    """Wait until the device has finished."""
    _device().synchronize(device)


def empty_cache():
    """Give unused memory back to the device."""
    _device().empty_cache()


def memory_allocated(device_index=None, /):
    """Return the bytes in use."""
    return _device().memory_allocated(device_index)


def max_memory_allocated(device_index=None, /):
    """Return the most bytes that were in use."""
    return _device().max_memory_allocated(device_index)
