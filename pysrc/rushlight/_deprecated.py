"""Functions and classes that PyTorch keeps for older scripts: each call warns."""

from __future__ import annotations

import functools
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def deprecated(message: Any, category: Any = DeprecationWarning) -> Any:
    """Make the decorator of a function, or of a class, of which instances and subclasses warn."""

    def of_function(function):
        @functools.wraps(function)
        def warning(*args, **kwargs):
            warnings.warn(message, category, stacklevel=2)
            return function(*args, **kwargs)

        warning.__deprecated__ = message
        return warning

    def of_class(cls):
        made = cls.__new__

        def __new__(new, /, *args, **kwargs):
            if new is cls:
                warnings.warn(message, category, stacklevel=2)
            return made(new) if made is object.__new__ else made(new, *args, **kwargs)

        def __init_subclass__(new, **kwargs):
            warnings.warn(message, category, stacklevel=2)
            super(cls, new).__init_subclass__(**kwargs)

        __new__.__wrapped__ = cls.__init__  # whose signature is shown
        cls.__new__ = __new__
        cls.__init_subclass__ = classmethod(__init_subclass__)
        cls.__deprecated__ = message
        return cls

    return lambda what: of_class(what) if isinstance(what, type) else of_function(what)
