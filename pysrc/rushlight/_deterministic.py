"""Deterministic algorithms: CUDA adds floats in one order, and unset memory is filled."""

from __future__ import annotations

from . import _C

_asked = {"mode": False, "warn_only": False, "fill": True}


def _apply():
    _C._set_deterministic(_asked["mode"], _asked["mode"] and _asked["fill"])


def _fill_uninitialized_memory(value=None):
    """Read utils.deterministic.fill_uninitialized_memory, or set it."""
    if value is not None:
        _asked["fill"] = value
        _apply()
    return _asked["fill"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Choose deterministic algorithms: results that do not change from run to run.

    Operators on the CPU always are, those on CUDA devices but for sums by atomics. With this they sort what
    they add by its target, and add in one order: ``scatter_add``, ``index_add``, ``index_put`` and ``put_``
    with `accumulate`, ``bincount`` with weights, and the gradients of indexing, ``gather``, ``embedding``,
    ``grid_sample``, ``as_strided`` and ``fractional_max_pool``. No operator refuses.

    Tensors whose elements are not set, as of empty(), are then filled with NaN or the largest number, unless
    ``utils.deterministic.fill_uninitialized_memory`` is False.

    Parameters
    ----------
    mode : bool
        Whether to choose them.
    warn_only : bool, default False
        Accepted: there is nothing to warn of.

    Raises
    ------
    TypeError
        If one is no bool.

    Notes
    -----
    Same as torch.use_deterministic_algorithms:
    https://docs.pytorch.org/docs/2.13/generated/torch.use_deterministic_algorithms.html

    Examples
    --------
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled(), torch.empty(2)
    (True, tensor([nan, nan]))
    >>> torch.use_deterministic_algorithms(False)
    """
    for place, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {place} must be bool, not {type(value).__name__}"
            )
    _asked["mode"], _asked["warn_only"] = mode, warn_only
    _apply()


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether use_deterministic_algorithms() has chosen deterministic algorithms.

    Returns
    -------
    bool
        Whether it has.

    Notes
    -----
    Same as torch.are_deterministic_algorithms_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.are_deterministic_algorithms_enabled.html

    Examples
    --------
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _asked["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the `warn_only` that use_deterministic_algorithms() has set.

    Returns
    -------
    bool
        What was set.

    Notes
    -----
    Same as torch.is_deterministic_algorithms_warn_only_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.is_deterministic_algorithms_warn_only_enabled.html

    Examples
    --------
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _asked["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Choose deterministic algorithms by a debug mode.

    Parameters
    ----------
    debug_mode : {'default', 'warn', 'error'} or {0, 1, 2}
        'default' does not choose them, the others do.

    Raises
    ------
    RuntimeError
        If the mode is unknown.
    TypeError
        If it is neither str nor int.

    Notes
    -----
    Same as torch.set_deterministic_debug_mode:
    https://docs.pytorch.org/docs/2.13/generated/torch.set_deterministic_debug_mode.html

    Examples
    --------
    >>> torch.set_deterministic_debug_mode("default")
    >>> torch.get_deterministic_debug_mode()
    0
    """
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
    """Return the debug mode of deterministic algorithms.

    Returns
    -------
    int
        0, 1 or 2 for 'default', 'warn' or 'error'.

    Notes
    -----
    Same as torch.get_deterministic_debug_mode:
    https://docs.pytorch.org/docs/2.13/generated/torch.get_deterministic_debug_mode.html

    Examples
    --------
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return (1 if _asked["warn_only"] else 2) if _asked["mode"] else 0
