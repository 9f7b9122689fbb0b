"""Whether Transformers and MultiheadAttention may take their private operators in inference."""

from __future__ import annotations

from rushlight import _missing

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]
__getattr__ = _missing.module_getattr(__name__)
_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """Return whether they may; the layers say what else must hold."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set whether they may: layers then give 0 or NaN at other places, and the same numbers elsewhere."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
