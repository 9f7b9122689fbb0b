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
__all__ += ["get_allocator_backend", "get_per_process_memory_fraction", "max_memory_cached"]
__all__ += ["memory_cached", "memory_stats_as_nested_dict", "memory_summary", "reset_max_memory_cached"]
__all__ += ["reset_peak_memory_stats", "set_per_process_memory_fraction"]

# PyTorch's counters that this allocator has nothing to count for: no block is kept from being split
_FIXED = {
    **{
        f"oversize_{what}.{count}": 0
        for what in ("allocations", "segments")
        for count in ("current", "peak", "allocated", "freed")
    },
    "max_split_size": -1,
    "num_sync_all_streams": 0,
}
_fractions: dict[int, float] = {}


def memory_stats(device: Device = None) -> dict[str, Any]:
    """Return the allocator's counters; none before a GPU is used."""
    if not _devices.is_started():
        return {}
    found = _devices.extension().memory_stats(_devices.index_of(device))
    return dict(sorted((found | _FIXED).items()))


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """Return the allocator's counters as dicts of dicts."""
    nested: dict[str, Any] = {}
    for key, value in memory_stats(device).items():
        *path, last = key.split(".")
        at = nested
        for name in path:
            at = at.setdefault(name, {})
        at[last] = value
    return nested


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


def memory_cached(device: Device = None) -> int:
    """Return memory_reserved(), as it was called before."""
    return memory_reserved(device)


def max_memory_cached(device: Device = None) -> int:
    """Return max_memory_reserved(), as it was called before."""
    return max_memory_reserved(device)


reset_max_memory_cached = reset_peak_memory_stats


def get_allocator_backend() -> str:
    """Return the name of the allocator; PYTORCH_CUDA_ALLOC_CONF chooses no other one."""
    return "native"


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Let this process reserve no more than a share of a GPU's memory.

    Parameters
    ----------
    fraction : float
        From 0 to 1, of all memory that the GPU has.
    device : torch.device or int, optional
        The GPU; the current one by default.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    index = _devices.index_of(device)
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _, total = mem_get_info(index)
    _devices.extension().memory_share(index, 0 if fraction == 1 else max(int(total * fraction), 1))
    _fractions[index] = fraction


def get_per_process_memory_fraction(device: Device = None) -> float:
    """Return the share of a GPU's memory that this process may reserve."""
    return _fractions.get(_devices.index_of(device), 1.0)


def _size(bytes):
    prefixes = ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"]
    at = 0
    while bytes >= 1024 * 10 and at + 1 < len(prefixes):
        bytes, at = bytes // 1024, at + 1
    return f"{bytes:6d} {prefixes[at]}"


def _number(n):
    prefixes = [" ", "K", "M"]
    at = 0
    while n >= 1000 * 100 and at + 1 < len(prefixes):
        n, at = n // 1000, at + 1
    return f"{n:7d} {prefixes[at]} "


_TABLE = [
    ("allocated_bytes", "Allocated memory", _size),
    ("active_bytes", "Active memory", _size),
    ("requested_bytes", "Requested memory", _size),
    ("reserved_bytes", "GPU reserved memory", _size),
    ("inactive_split_bytes", "Non-releasable memory", _size),
    ("allocation", "Allocations", _number),
    ("active", "Active allocs", _number),
    ("segment", "GPU reserved segments", _number),
    ("inactive_split", "Non-releasable allocs", _number),
]


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """Return a table of the allocator's counters.

    Parameters
    ----------
    device : torch.device or int, optional
        The GPU; the current one by default.
    abbreviated : bool, default False
        Whether the two pools are left out.
    """
    index = _devices.index_of(device)
    stats = memory_stats(index)
    columns = ("current", "peak", "allocated", "freed")
    ooms = f"CUDA OOMs: {stats.get('num_ooms', 0)}"
    retries = f"cudaMalloc retries: {stats.get('num_alloc_retries', 0)}"
    title = f"PyTorch CUDA memory summary, device ID {index}"
    lines = [
        "=" * 75,
        f"{title:^75}",
        "-" * 75,
        f"{ooms:^37}|{retries:^37}",
        "=" * 75,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for key, title, show in _TABLE:
        lines.append("-" * 75)
        pools = [
            ("all", title),
            ("large_pool", "      from large pool"),
            ("small_pool", "      from small pool"),
        ]
        for pool, name in pools[:1] if abbreviated else pools:
            cells = [show(stats.get(f"{key}.{pool}.{column}", 0)) for column in columns]
            lines.append(f" {name:<22}| " + " | ".join(cells) + " ")
    return "|" + "|\n|".join([*lines, "=" * 75]) + "|\n"
