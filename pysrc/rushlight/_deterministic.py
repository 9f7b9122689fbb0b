"""Deterministic algorithms: operators always answer the same bits, so only unset memory changes."""

from __future__ import annotations

from . import _C

_asked = {"mode": False, "warn_only": False, "fill": True}


def _apply():
    _C._fill_unset(_asked["mode"] and _asked["fill"])


def _fill_uninitialized_memory(value=None):
    """Read utils.deterministic.fill_uninitialized_memory, or set it."""
    if value is not None:
        _asked["fill"] = value
        _apply()
    return _asked["fill"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that do not change from run to run, as all operators answer them.

    Tensors that ``empty()`` makes are filled with NaN, or with the largest number of their dtype, unless
    ``utils.deterministic.fill_uninitialized_memory`` is False.
    """
    for place, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {place} must be bool, not {type(value).__name__}"
            )
    _asked["mode"], _asked["warn_only"] = mode, warn_only
    _apply()


def are_deterministic_algorithms_enabled() -> bool:
    """Return what was asked for."""
    return _asked["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return what was asked for."""
    return _asked["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic algorithms: 'default' or 0 for none, 'warn' or 1, 'error' or 2."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    names = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, "
                f"but got {debug_mode}"
            )
        debug_mode = names.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode != 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2: 'default', 'warn' or 'error'."""
    return (1 if _asked["warn_only"] else 2) if _asked["mode"] else 0
