"""Settings for all DataPipes of a graph; there are none here, so each raises NotImplementedError."""

from rushlight import _missing

from .datapipes.datapipe import _refuse

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]
__getattr__ = _missing.lacks(__name__)


def get_all_graph_pipes(graph):
    """Would return all DataPipes of a graph."""
    raise _refuse("get_all_graph_pipes")


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=None):
    """Would give each process its part of the samples."""
    raise _refuse("apply_sharding")


def apply_shuffle_settings(datapipe, shuffle=None):
    """Would switch shuffling on or off."""
    raise _refuse("apply_shuffle_settings")


def apply_shuffle_seed(datapipe, rng):
    """Would seed shuffling."""
    raise _refuse("apply_shuffle_seed")


def apply_random_seed(datapipe, rng):
    """Would seed whatever is random."""
    raise _refuse("apply_random_seed")
