"""The CPU, asked as other devices are."""

from rushlight import _missing

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
_missing_name = _missing.lacks(__name__)


def __getattr__(name):
    if name != "amp":
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.amp")


def current_device():
    """Return the name of the one CPU."""
    return "cpu"


def device_count():
    """Return the number of CPUs as devices: 1."""
    return 1


def is_available():
    """Whether tensors can lie there."""
    return True


def is_initialized():
    """Whether it was used already."""
    return True


def set_device(device):
    """Choose a CPU; there is one."""


def synchronize(device=None):
    """Wait until the CPU has finished; operators have when they return."""
