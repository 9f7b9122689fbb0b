"""CUDA graphs, which this version does not capture: names that packages import; to use one raises."""

from __future__ import annotations

from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def _refuse(what: str, text: str | None = None) -> NoReturn:
    """Raise PyTorch's error of a build without CUDA; with GPUs, say that this version has no graphs."""
    from . import is_available

    if is_available():
        raise _missing.refuse(f"cuda.{what}")
    raise RuntimeError(text or f"Tried to instantiate dummy base class {what}")


class CUDAGraph:
    """Hold work of a GPU for replays: not in this version.

    Raises
    ------
    RuntimeError
        Where there is no GPU, with PyTorch's text.
    NotImplementedError
        Where there is one.
    """

    def __new__(cls, keep_graph: bool = False) -> CUDAGraph:
        _refuse("CUDAGraph")


class graph:
    """Capture work of a GPU into a CUDAGraph: not in this version.

    Raises
    ------
    RuntimeError
        Where there is no GPU, with PyTorch's text.
    NotImplementedError
        Where there is one.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        _refuse("graph", "torch.cuda.Stream requires CUDA support")

    def __enter__(self) -> None:
        _refuse("graph")

    def __exit__(self, *args: object) -> None:
        _refuse("graph")


def graph_pool_handle() -> Any:
    """Raise RuntimeError, or NotImplementedError where there is a GPU: there are no graphs."""
    _refuse("_graph_pool_handle")


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured: never."""
    return False


def make_graphed_callables(
    callables: Callable[..., Any] | tuple[Callable[..., Any], ...],
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Raise RuntimeError, or NotImplementedError where there is a GPU: there are no graphs."""
    _refuse("CUDAGraph")
