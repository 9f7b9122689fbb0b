"""GPUs of Intel: there are none."""

from __future__ import annotations

from . import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.types import Device

__all__ = ["current_device", "device_count", "empty_cache", "get_device_name", "init", "is_available"]
__all__ += ["is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "set_device"]
__all__ += ["synchronize"]
__getattr__ = _missing.module_getattr(__name__)


def device_count() -> int:
    """Return the number of devices."""
    return 0


def is_available() -> bool:
    """Whether there is a device that can be used."""
    return False


def is_initialized() -> Any:
    """Whether a device was used already."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16."""
    return False


def empty_cache() -> None:
    """Give unused memory back to the GPUs: there is nothing to do."""


def manual_seed(seed: int) -> None:
    """Seed the GPU: there is nothing to do."""


def manual_seed_all(seed: int) -> None:
    """Seed the GPUs: there is nothing to do."""


def init() -> None:
    """Raise an AssertionError: there is no GPU."""
    raise AssertionError("Torch not compiled with XPU enabled")


def current_device() -> int:
    """Raise an AssertionError: there is no GPU."""
    init()


def set_device(device: Device) -> None:
    """Raise an AssertionError: there is no GPU."""
    init()


def get_device_name(device: Device = None) -> str:
    """Raise an AssertionError: there is no GPU."""
    init()


def synchronize(device: Device = None) -> None:
    """Raise an AssertionError: there is no GPU."""
    init()
