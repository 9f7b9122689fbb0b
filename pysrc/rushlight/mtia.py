"""Accelerators of Meta: there are none."""

from __future__ import annotations

from . import _missing
from .xpu import device_count, is_available, is_initialized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight.types import Device

__all__ = ["device_count", "is_available", "is_initialized", "synchronize"]
__getattr__ = _missing.module_getattr(__name__)


def synchronize(device: Device = None) -> None:
    """Raise a RuntimeError: there is none."""
    raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")
