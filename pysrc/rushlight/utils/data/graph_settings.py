"""Settings for all DataPipes of a graph; there are none here, so each raises NotImplementedError."""

from __future__ import annotations

from rushlight import _missing

from .datapipes.datapipe import _refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]
__getattr__ = _missing.module_getattr(__name__)


def get_all_graph_pipes(graph: Any) -> Any:
    """Would return all DataPipes of a graph."""
    raise _refuse("get_all_graph_pipes")


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Would give each process its part of the samples."""
    raise _refuse("apply_sharding")


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Would switch shuffling on or off."""
    raise _refuse("apply_shuffle_settings")


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """Would seed shuffling."""
    raise _refuse("apply_shuffle_seed")


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Would seed whatever is random."""
    raise _refuse("apply_random_seed")
