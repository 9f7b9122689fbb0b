"""How much memory of a GPU is in use. What tensors no longer need is kept for others: reserved memory.

Sizes are those of blocks, which are multiples of 512 bytes, as in PyTorch.
"""

from __future__ import annotations

from . import _devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.types import Device

__all__ = ["empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated"]
__all__ += ["memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated"]
__all__ += ["reset_peak_memory_stats"]


def memory_stats(device: Device = None) -> dict[str, Any]:
    """Return the allocator's counters; none before a GPU is used."""
    if not _devices.is_started():
        return {}
    found = _devices.extension().memory_stats(_devices.index_of(device))
    return dict(sorted(found.items()))


def _count(name, device):
    return memory_stats(device).get(name, 0)


def memory_allocated(device: Device = None) -> int:
    """Return the bytes of the blocks that tensors use."""
    return _count("allocated_bytes.all.current", device)


def max_memory_allocated(device: Device = None) -> int:
    """Return the most bytes that tensors used at once."""
    return _count("allocated_bytes.all.peak", device)


def memory_reserved(device: Device = None) -> int:
    """Return the bytes that were asked of the GPU and not given back."""
    return _count("reserved_bytes.all.current", device)


def max_memory_reserved(device: Device = None) -> int:
    """Return the most bytes that were reserved at once."""
    return _count("reserved_bytes.all.peak", device)


def reset_peak_memory_stats(device: Device = None) -> None:
    """Make the peaks what is in use now."""
    _devices.extension().memory_reset(_devices.index_of(device), True)


reset_max_memory_allocated = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Count what is allocated and freed from zero again."""
    _devices.extension().memory_reset(_devices.index_of(device), False)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Return the bytes of a GPU that are free, and all."""
    return _devices.extension().memory(_devices.index_of(device))


def empty_cache() -> None:
    """Give reserved memory that nobody uses back to the GPU."""
    if _devices.is_started():
        _devices.extension().empty_cache()
