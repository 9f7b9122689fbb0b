"""Switches of TorchScript's executor, of which there is none: they are kept and change nothing."""

from __future__ import annotations

from contextlib import contextmanager

from rushlight import _missing

from ._state import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3", "none")
_kept = {"strategy": [("STATIC", 2), ("DYNAMIC", 10)], "onednn": False}


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Choose within a context whether the executor optimizes: there is none."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Choose within a context how operators are fused: they are not.

    Raises
    ------
    Exception
        If there is no such fuser in PyTorch.
    """
    if name not in _FUSERS:
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Set how often fused code may be specialized, and return what was set before: nothing is fused.

    Notes
    -----
    Same as torch.jit.set_fusion_strategy:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.set_fusion_strategy.html
    """
    deprecated("set_fusion_strategy", "Please use `torch.compile` instead.")
    before, _kept["strategy"] = _kept["strategy"], list(strategy)
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Set whether oneDNN fuses operators of scripts: nothing is fused.

    Notes
    -----
    Same as torch.jit.enable_onednn_fusion:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.enable_onednn_fusion.html
    """
    _kept["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Return what enable_onednn_fusion() has set.

    Notes
    -----
    Same as torch.jit.onednn_fusion_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.onednn_fusion_enabled.html
    """
    return _kept["onednn"]


def last_executed_optimized_graph() -> Any:
    """Raise NotImplementedError: there are no graphs."""
    raise _missing.refuse("jit.last_executed_optimized_graph: nothing is compiled")
