"""Gives what is written in a private module the name of the public one: texts and pickles use that."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FUNCTION = type(lambda: None)


def adopt(home: Any, *objects: Any) -> None:
    """Make ``home`` the ``__module__`` of functions and classes, and of the functions in these classes."""
    for each in objects:
        before = each.__module__
        each.__module__ = home
        if isinstance(each, type):
            for member in vars(each).values():
                function = getattr(member, "__func__", member)  # behind staticmethod and classmethod
                if type(function) is _FUNCTION and function.__module__ == before:  # not one of another class
                    function.__module__ = home
