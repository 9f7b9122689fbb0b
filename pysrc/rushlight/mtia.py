"""Accelerators of Meta: there are none."""

from . import _missing

__all__ = ["device_count", "is_available", "is_initialized", "synchronize"]
__getattr__ = _missing.lacks(__name__)


def device_count():
    """Return the number of accelerators."""
    return 0


def is_available():
    """Whether there is one that can be used."""
    return False


def is_initialized():
    """Whether one was used already."""
    return False


def synchronize(device=None):
    """Raise a RuntimeError: there is none."""
    raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")
