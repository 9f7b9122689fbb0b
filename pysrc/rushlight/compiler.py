"""What code asks about compilation: nothing is ever compiled, Python always runs."""

from __future__ import annotations

from . import _missing
from ._settings import compile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "reset",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def is_compiling() -> bool:
    """Whether the code runs inside of torch.compile() or torch.export(): never."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether it runs inside of TorchDynamo: never."""
    return False


def is_exporting() -> bool:
    """Whether it runs inside of torch.export(): never."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: Any = None) -> Any:
    """Return the function as it is; without one, a decorator that does so."""
    return disable if fn is None else fn


_disable_dynamo = disable  # what PyTorch decorates its optimizers with, and so do others


def allow_in_graph(fn: Any) -> Any:
    """Return the function, or the list of functions, as it is."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Return the function as it is."""
    return fn


def reset() -> None:
    """Forget what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Say that another iteration begins: there are no CUDA graphs."""
