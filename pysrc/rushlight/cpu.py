"""The CPU, asked as other devices are."""

from . import _missing

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
__getattr__ = _missing.lacks(__name__)


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
