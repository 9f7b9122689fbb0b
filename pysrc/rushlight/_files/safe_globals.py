"""Classes and functions that loading may use."""

from __future__ import annotations

from rushlight._files.names import torch_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_safe_globals = set()


def _check_safe_global(item):
    obj = item[0] if isinstance(item, tuple) and item else item
    if getattr(obj, "__module__", None) == "builtins" and not isinstance(obj, type):
        raise ValueError(
            f"{obj.__qualname__} cannot be added to the safe globals: a file could run any code with it"
        )


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow classes and functions in files that torch.load reads with ``weights_only=True``, from now on.

    Parameters
    ----------
    safe_globals : list of classes and functions
        What to allow; a tuple ``(object, "module.name")`` allows it under the name that a file has for it.

    Raises
    ------
    ValueError
        If one is a builtin function, with which a file could run any code.

    Notes
    -----
    Same as torch.serialization.add_safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> from fractions import Fraction
    >>> torch.serialization.add_safe_globals([Fraction])
    >>> torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> torch.serialization.clear_safe_globals()
    """
    items = set(safe_globals)
    for item in items:
        _check_safe_global(item)
    _safe_globals.update(items)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """Return the list of classes and functions that were allowed in files.

    Notes
    -----
    Same as torch.serialization.get_safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Allow no more classes and functions in files than at the start.

    Notes
    -----
    Same as torch.serialization.clear_safe_globals:
    https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _safe_globals.clear()


class safe_globals:
    """Allow classes and functions in files within a context, as add_safe_globals() does for good.

    Parameters
    ----------
    safe_globals : list of classes and functions
        What to allow; a tuple ``(object, "module.name")`` allows it under the name that a file has for it.

    Notes
    -----
    Same as torch.serialization.safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> import pathlib
    >>> torch.save({"path": pathlib.PurePosixPath("data")}, "checkpoint.pt")
    >>> with torch.serialization.safe_globals([pathlib.PurePosixPath]):
    ...     torch.load("checkpoint.pt")
    {'path': PurePosixPath('data')}
    """

    def __init__(self, safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, type: object, value: object, tb: object) -> None:
        _safe_globals.difference_update(self.safe_globals)


def _allowed_names():
    names = {}
    for item in _safe_globals:
        if not isinstance(item, tuple):
            names[".".join(torch_name(item))] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                f"{len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(
                f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
            )
        names[item[1]] = item[0]
    return names
