"""Accelerators of Meta: there are none."""

from . import _missing
from .xpu import device_count, is_available, is_initialized

__all__ = ["device_count", "is_available", "is_initialized", "synchronize"]
__getattr__ = _missing.lacks(__name__)


def synchronize(device=None):
    """Raise a RuntimeError: there is none."""
    raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")
