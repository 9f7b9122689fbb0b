"""The CPU, asked as other devices are."""

from __future__ import annotations

from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight.types import Device

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
_missing_name = _missing.module_getattr(__name__)


def __getattr__(name):
    if name != "amp":
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.amp")


def current_device() -> str:
    """Return the name of the one CPU."""
    return "cpu"


def device_count() -> int:
    """Return the number of CPUs as devices: 1."""
    return 1


def is_available() -> bool:
    """Whether tensors can lie there."""
    return True


def is_initialized() -> bool:
    """Whether it was used already."""
    return True


def set_device(device: Device) -> None:
    """Choose a CPU; there is one."""


def synchronize(device: Device = None) -> None:
    """Wait until the CPU has finished; operators have when they return."""
