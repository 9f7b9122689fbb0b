"""What TorchScript reads in annotations; its own types are not here, since nothing is compiled."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

from rushlight import _missing
from rushlight._jit_internal import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    is_dict,
    is_list,
    is_optional,
    is_tuple,
    is_union,
)
from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "List",
    "Module",
    "Tuple",
    "ann_to_type",
    "get_param_names",
    "get_signature",
    "is_dict",
    "is_list",
    "is_optional",
    "is_tuple",
    "is_union",
    "try_ann_to_type",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

ann_to_type = _missing.absent_function(__name__, "ann_to_type")
get_signature = _missing.absent_function(__name__, "get_signature")
try_ann_to_type = _missing.absent_function(__name__, "try_ann_to_type")


def get_param_names(fn: Callable[..., Any], n_args: int) -> list[str]:
    """Return the names of a function's parameters, or numbers where there are none to read."""
    import inspect

    if isinstance(fn, type):
        fn = fn.__call__
    if inspect.isfunction(fn) or inspect.ismethod(fn):
        return [*inspect.signature(fn).parameters]
    return [str(i) for i in range(n_args)]
