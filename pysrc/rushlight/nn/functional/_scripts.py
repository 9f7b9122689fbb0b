"""Names of torch.nn.functional that its documentation lacks, and that scripts take from there all the same.

Whoever asks the package for a name that it does not have gets what stands here.
"""

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional

import rushlight as torch
from rushlight import Tensor
from rushlight import dtype as DType
from rushlight._jit_internal import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    _overload,
    boolean_dispatch,
)
from rushlight._jit_internal import unused as _jit_unused
from rushlight.nn import _reduction as _Reduction
from rushlight.nn.modules.utils import _pair, _single, _triple
from rushlight.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

from ._activation import _get_softmax_dim
from ._activation import threshold as _threshold
from ._embedding import _no_grad_embedding_renorm_
from ._grouped import ScalingType, SwizzleType, grouped_mm, scaled_grouped_mm, scaled_mm
from ._norm import _verify_batch_size, _verify_spatial_size
from ._pool import _list_with_default

try:
    import numpy as np
except ImportError:
    np = None

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Callable",
    "DType",
    "Optional",
    "ScalingType",
    "SwizzleType",
    "TYPE_CHECKING",
    "Tensor",
    "_Any",
    "_Reduction",
    "_VF",
    "_add_docstr",
    "_enum_list_as_int_list",
    "_expand_single_value",
    "_get_softmax_dim",
    "_is_integer",
    "_jit_unused",
    "_list_or_empty",
    "_list_with_default",
    "_no_grad_embedding_renorm_",
    "_overload",
    "_pair",
    "_single",
    "_sym_int",
    "_threshold",
    "_triple",
    "_verify_batch_size",
    "_verify_spatial_size",
    "assert_int_or_pair",
    "boolean_dispatch",
    "grouped_mm",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "math",
    "np",
    "reproducibility_notes",
    "scaled_grouped_mm",
    "scaled_mm",
    "sparse_support_notes",
    "tf32_notes",
    "torch",
    "warnings",
]
_Any = Any
_VF = torch
_sym_int = int
_NOTE = "Here every operator answers the same numbers, however often it is called."
reproducibility_notes = {f"{what}_reproducibility_note": _NOTE for what in ("forward", "backward", "cudnn")}
sparse_support_notes = {"sparse_beta_warning": "Tensors are dense."}
tf32_notes = {"tf32_note": "float32 is never rounded to TensorFloat32."}


def _add_docstr(obj, text):
    """Return the object, which keeps its own docstring."""
    return obj


def assert_int_or_pair(arg, arg_name, message) -> None:
    """AssertionError with the message, formatted with the name, unless arg is an int or has two elements."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def _is_integer(x) -> bool:
    """Is it a whole number, or a tensor of such?"""
    whole = (int, np.integer) if np else int
    return isinstance(x, whole) or (isinstance(x, Tensor) and not x.is_floating_point())


def _list_or_empty(values):
    return values or []


def _expand_single_value(value):
    """Make a list of one value, an empty one of None."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _enum_list_as_int_list(values):
    return [each.value for each in _expand_single_value(values)]
