"""GPUs of Apple: there are none."""

from __future__ import annotations

from . import _missing

__all__ = ["current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache"]
__all__ += ["is_available", "manual_seed", "synchronize"]
__getattr__ = _missing.module_getattr(__name__)


def device_count() -> int:
    """Return the number of GPUs."""
    return 0


def is_available() -> bool:
    """Whether there is a GPU that can be used."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the GPUs: there is nothing to do."""


def _refuse(function):
    raise RuntimeError(f"Cannot execute {function}() without MPS backend.")


def synchronize() -> None:
    """Raise a RuntimeError: there is no GPU."""
    _refuse("deviceSynchronize")


def empty_cache() -> None:
    """Raise a RuntimeError: there is no GPU."""
    _refuse("emptyCache")


def current_allocated_memory() -> int:
    """Raise a RuntimeError: there is no GPU."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """Raise a RuntimeError: there is no GPU."""
    _refuse("getDriverAllocatedMemory")
