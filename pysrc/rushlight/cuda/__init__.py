"""GPUs; there are some when the optional extension rushlight._cuda is built and finds them."""

from __future__ import annotations

from rushlight import _C, _missing

from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.types import Device

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]
_missing_name = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


def __getattr__(name):
    if name == "default_generators":
        device_count()  # makes them
        return _C._device_generators()
    if name != "amp":
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.amp")


def device_count() -> int:
    """Return the number of GPUs."""
    from rushlight._device import cuda_driver

    return cuda_driver()


def _need_gpu():
    if device_count() == 0:
        raise AssertionError("Torch not compiled with CUDA enabled")


def is_available() -> bool:
    """Whether there is a GPU that can be used."""
    return device_count() > 0


def is_initialized() -> Any:
    """Whether a GPU was used already."""
    return is_available()


def is_bf16_supported(including_emulation: bool = True) -> Any:
    """Whether a GPU computes with bfloat16."""
    return is_available()


def init() -> None:
    """Make sure that there is a GPU."""
    _need_gpu()


def current_device() -> int:
    """Return the number of the GPU in use: 0."""
    _need_gpu()
    return 0


def set_device(device: Device) -> None:
    """Choose a GPU; only the first one can be."""
    _need_gpu()
    if str(device) not in ("0", "cuda", "cuda:0"):
        raise _missing.refuse(f"set_device({device!r})")


def get_device_name(device: Device = None) -> str:
    """Return the name of a GPU."""
    _need_gpu()
    raise _missing.refuse("cuda.get_device_name")


def synchronize(device: Device = None) -> None:
    """Wait until the GPU has finished."""
    _need_gpu()
    from rushlight._device import cuda_extension

    cuda_extension().synchronize()


def empty_cache() -> None:
    """Give unused memory back to the GPU; nothing is kept."""


def memory_allocated(device: Device = None) -> int:
    """Return the bytes in use; they are not counted."""
    return 0


max_memory_allocated = memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Device = None) -> None:
    """Start counting anew."""
