"""Training in several processes: there is no communication, as in a PyTorch built with USE_DISTRIBUTED=0.

``is_available()`` is False. PyTorch has then almost no other name; programs that ask without looking
first get what they get from a PyTorch in which no process group was initialized.

See https://docs.pytorch.org/docs/2.13/distributed.html
"""

from __future__ import annotations

from rushlight import _exports

from .device_mesh import DeviceMesh, init_device_mesh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "GroupName",
    "ProcessGroup",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]
_NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class DistError(RuntimeError):
    """An error of communication."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of a network."""


class DistStoreError(DistError):
    """An error of a store."""


class GroupName:
    """For annotations: the name of a group of processes."""


class ProcessGroup:
    """For annotations and isinstance(): a group of processes, of which there is none."""


class group:
    """The groups that every program has: ``WORLD`` is None until one is initialized, which is never.

    Attributes
    ----------
    WORLD : None
    """

    WORLD: Any = None


def is_available() -> bool:
    """Whether processes can communicate: no."""
    return False


def is_initialized() -> bool:
    """Whether init_process_group() was called: never with success."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL is built in: no."""
    return False


def is_gloo_available() -> bool:
    """Whether Gloo is built in: no."""
    return False


def is_mpi_available() -> bool:
    """Whether MPI is built in: no."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC is built in: no."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL is built in: no."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is built in: none is."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchelastic, which is torchrun, started this process.

    Notes
    -----
    Same as torch.distributed.is_torchelastic_launched:
    https://docs.pytorch.org/docs/2.13/distributed.html#torch.distributed.is_torchelastic_launched
    """
    import os

    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process on its machine, which torchrun writes into LOCAL_RANK.

    Parameters
    ----------
    fallback_rank : int, optional
        The answer where that is not set.

    Raises
    ------
    RuntimeError
        If it is not set, and there is no other answer.
    """
    import os

    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` "
        "to work, assuming you are not running in a multi-device context and want the code to run locally "
        "instead."
    )


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Raise RuntimeError: no backend is built in.

    Raises
    ------
    RuntimeError
        Always, with PyTorch's text for a backend that was not built.
    """
    name = {"nccl": "NCCL", "mpi": "MPI", "ucc": "UCC", "xccl": "XCCL"}.get(str(backend).lower(), "GLOO")
    text = f"Distributed package doesn't have {name} built in"
    if name == "MPI":
        text += ". MPI is only included if you build PyTorch from source on a host that has MPI installed."
    raise RuntimeError(text)


def destroy_process_group(group: Any = None) -> None:
    """Raise AssertionError: there is no group."""
    raise AssertionError("Process group cannot be None")


def _without_group(name):
    def function(*args, **kwargs):
        raise ValueError(_NOT_INITIALIZED)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ValueError: there is no process group."
    return function


get_rank = _without_group("get_rank")
get_world_size = _without_group("get_world_size")
get_backend = _without_group("get_backend")
get_process_group_ranks = _without_group("get_process_group_ranks")
new_group = _without_group("new_group")
barrier = _without_group("barrier")
monitored_barrier = _without_group("monitored_barrier")
all_gather = _without_group("all_gather")
all_gather_into_tensor = _without_group("all_gather_into_tensor")
all_gather_object = _without_group("all_gather_object")
all_reduce = _without_group("all_reduce")
all_to_all = _without_group("all_to_all")
all_to_all_single = _without_group("all_to_all_single")
broadcast = _without_group("broadcast")
broadcast_object_list = _without_group("broadcast_object_list")
gather = _without_group("gather")
gather_object = _without_group("gather_object")
irecv = _without_group("irecv")
isend = _without_group("isend")
recv = _without_group("recv")
reduce = _without_group("reduce")
reduce_scatter = _without_group("reduce_scatter")
reduce_scatter_tensor = _without_group("reduce_scatter_tensor")
scatter = _without_group("scatter")
scatter_object_list = _without_group("scatter_object_list")
send = _without_group("send")
_exports.publish(globals())
