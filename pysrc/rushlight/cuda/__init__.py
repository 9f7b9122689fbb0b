"""GPUs; there are some when the optional extension rushlight._cuda is built and finds them."""

from __future__ import annotations

from rushlight import _C, _missing
from rushlight._C import AcceleratorError, OutOfMemoryError

from . import _devices, memory, streams  # noqa: F401  (torch.cuda.memory, torch.cuda.streams)
from ._devices import device, device_of, index_of
from .memory import (
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
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
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.types import Device

__all__ = ["AcceleratorError", "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext"]
__all__ += ["can_device_access_peer", "current_device", "current_stream", "default_stream", "device"]
__all__ += ["device_count", "device_of", "empty_cache", "get_device_capability", "get_device_name"]
__all__ += ["get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized"]
__all__ += ["manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info"]
__all__ += ["memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats"]
__all__ += ["reset_max_memory_allocated", "reset_peak_memory_stats", "set_device", "set_stream", "stream"]
__all__ += ["get_rng_state", "get_rng_state_all", "initial_seed", "seed", "seed_all", "set_rng_state"]
__all__ += ["set_rng_state_all", "synchronize", "get_allocator_backend", "max_memory_cached"]
__all__ += ["get_per_process_memory_fraction", "memory_cached", "memory_stats_as_nested_dict"]
__all__ += ["memory_summary", "reset_max_memory_cached", "set_per_process_memory_fraction"]
_GRAPHS = ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables")
__all__ += _GRAPHS
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, ("graphs",))


def __getattr__(name):
    if name == "default_generators":
        return _C._make_generators(device_count())
    if name.endswith("Tensor"):
        from rushlight._types import _cuda_types

        globals().update({key: value for key, value in _cuda_types().items() if key not in globals()})
        if name in globals():
            return globals()[name]
    from importlib import import_module

    if name in ("amp", "graphs"):
        return import_module(f"{__name__}.{name}")
    if name in _GRAPHS:
        return getattr(import_module(f"{__name__}.graphs"), name)
    return _missing_name(name)


def device_count() -> int:
    """Return the number of GPUs; before one is used this looks at files and starts nothing."""
    from rushlight._device import visible_devices

    return visible_devices()


def is_available() -> bool:
    """Whether there is a GPU that can be used; a process that only asks may fork and use it then."""
    return device_count() > 0


def is_initialized() -> Any:
    """Whether this process has used a GPU."""
    return _devices.is_started()


def is_bf16_supported(including_emulation: bool = True) -> Any:
    """Whether a GPU computes with bfloat16."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def init() -> None:
    """Make sure that there is a GPU."""
    _devices.extension()


def current_device() -> int:
    """Return the number of this thread's current GPU."""
    return _devices.extension().current()


def set_device(device: Device) -> None:
    """Make a GPU this thread's current one; a negative number changes nothing."""
    index = index_of(device, optional=False)
    if index >= 0:
        _devices.extension().choose(index)


def get_device_properties(device: Device = None) -> Any:
    """Return what a GPU says of itself."""
    return _devices.properties(index_of(device))


def get_device_name(device: Device = None) -> str:
    """Return the name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """Return the two numbers of a GPU's compute capability."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """Whether a GPU reaches the memory of another one directly."""
    return _devices.extension().can_access(index_of(device), index_of(peer_device))


def synchronize(device: Device = None) -> None:
    """Wait until a GPU has finished."""
    index = index_of(device)
    _devices.extension().synchronize(index)
