"""What functions that export an operator are decorated with."""

from __future__ import annotations

from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["parse_args"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def parse_args(*arg_descriptors: str | None) -> Callable[[Any], Any]:
    """Note the kinds of a function's arguments, such as "v" for a value and "i" for an integer.

    No export calls the function: it stays as it is.
    """

    def decorator(fn):
        fn._arg_descriptors = arg_descriptors
        return fn

    return decorator
