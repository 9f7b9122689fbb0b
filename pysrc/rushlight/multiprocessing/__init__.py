"""Python's multiprocessing, with tensors that share their memory.

All of multiprocessing's names are here. Tensors, parameters and storages that are sent through its queues,
pipes and pools, or given to a process as arguments, are moved into shared memory, and what the other process
gets lies in the same memory.

https://docs.pytorch.org/docs/2.13/multiprocessing.html
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from .._C import _get_thread_name, _prctl_pr_set_pdeathsig, _set_thread_name  # noqa: F401
from . import _keeper
from .reductions import init_reductions
from .spawn import (  # noqa: F401
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies"]
__all__ += multiprocessing.__all__

_sharing_strategy = "file_descriptor"
_all_sharing_strategies = {"file_descriptor", "file_system"}


def set_sharing_strategy(new_strategy: Any) -> None:
    """Choose how the memory of CPU tensors is handed over: one of get_all_sharing_strategies().

    "file_descriptor": by the sender, who must live until the receiver has it. "file_system": by a process
    that keeps it until then, and this process may have as many descriptors as its hard limit allows. Both
    need one descriptor for each storage.
    """
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}"
        )
    if new_strategy == "file_system":
        _keeper.raise_limit()
        _keeper.address()  # started now, so that forked children use the same one
    _sharing_strategy = new_strategy


def get_sharing_strategy() -> Any:
    """Return how the memory of CPU tensors is handed over."""
    return _sharing_strategy


def get_all_sharing_strategies() -> Any:
    """Return the ways of handing memory over that there are here."""
    return _all_sharing_strategies


init_reductions()
