"""Switches of the package, and what is accepted and changes nothing: compile."""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_switches = {"interop": None, "precision": "highest", "warn_always": False}


def set_num_interop_threads(n: int) -> None:
    """Accepted: operators never run beside each other."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _switches["interop"] = n


def get_num_interop_threads() -> Any:
    """Return the number that was set."""
    return _switches["interop"] or _C.get_num_threads()


def set_warn_always(b: bool, /) -> None:
    """Say whether warnings that are given once come every time."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _switches["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Return what was set."""
    return _switches["warn_always"]


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"float32_matmul_precision should be one of 'highest', 'high' or 'medium' but got {precision}"
        )
    _switches["precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return what was set."""
    return _switches["precision"]


def compile(model: Any = None, **options: Any) -> Any:
    """Return the model or function as it is; with options alone, a decorator that does so."""
    if model is None:
        return compile
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model
