"""Functions of tensors that are made of others.

PyTorch has those of ``__all__`` in its module of this name; the others belong to the package itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from . import _C, _missing
from ._C import norm, split  # noqa: F401
from ._grids import (  # noqa: F401
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    cartesian_prod,
    meshgrid,
)
from ._products import cdist, einsum, tensordot  # noqa: F401
from ._tensor import _TYPE_NAMES, _need_tensor
from ._unique import unique, unique_consecutive  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Size, Tensor

__all__ = [
    *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors"),
    *("cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "tensordot"),
    *("unique", "unique_consecutive", "unravel_index"),
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)
_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}

# ---- comparing ----


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: Tensor | float | None = 1e-05,
    atol: Tensor | float | None = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where is |input - other| <= atol + rtol * |other|?"""
    _need_tensor(input, "isclose", "input", 1)
    _need_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{_TITLE[input.dtype]} did not match {_TITLE[other.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    with_grad = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        close = input == other
        if equal_nan and input.is_floating_point():
            close = close | (_C.isnan(input) & _C.isnan(other))
        if rtol == 0 and atol == 0:
            return close
        right = other if other.is_floating_point() else other.to(_C.get_default_dtype())
        left = input.to(right.dtype) if input.dtype is _C.bool else input
        error = (left - right).abs()
        return close | (_C.isfinite(error) & (error <= (right * rtol).abs() + atol))
    finally:
        _C._set_grad_enabled(with_grad)


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: Tensor | float | None = 1e-05,
    atol: Tensor | float | None = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Is |input - other| <= atol + rtol * |other| everywhere?"""
    _need_tensor(input, "allclose", "input", 1)
    _need_tensor(other, "allclose", "other", 2)
    return isclose(input, other, rtol, atol, equal_nan).all().item()


def equal(input: Tensor, other: Tensor) -> bool:
    """Have both the same shape and the same elements?"""
    _need_tensor(input, "equal", "input", 1)
    _need_tensor(other, "equal", "other", 2)
    if input.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors")
    return _C._nn._equal(input, other).item()


# ---- asking ----


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes (tuples or numbers) have together; RuntimeError if none."""
    shapes = [(shape,) if isinstance(shape, int) else shape for shape in shapes]
    result = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size != 1 and result[-i] not in (1, size):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {-i}! Mismatching argument at "
                    f"index {shapes.index(shape)} had {shape}; but expected shape should be broadcastable "
                    f"to {result}"
                )
            if size != 1:
                result[-i] = size
    return _C.Size(result)


def _joined(a, b):
    """Return the shape that two shapes broadcast to."""
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    for dim in reversed(range(n)):
        i, j = a[dim], b[dim]
        if i != j and 1 not in (i, j):
            raise RuntimeError(
                f"The size of tensor a ({i}) must match the size of tensor b ({j}) "
                f"at non-singleton dimension {dim}"
            )
    return _C.Size(j if i == 1 else i for i, j in zip(a, b))


def broadcast_tensors(*tensors: Any) -> list[Tensor]:
    """Views of the tensors, stretched to the shape that they have together."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = _C.Size()
    for t in tensors:
        if t.shape != shape:
            shape = _joined(shape, t.shape)
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


def unravel_index(indices: Tensor, shape: int | Sequence[int] | Size) -> tuple[Tensor, ...]:
    """The indices along each dimension of `shape` (a number or some) that indices of the flat tensor mean."""
    if indices.is_complex() or indices.is_floating_point() or indices.dtype is _C.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else shape
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    sizes = _C.Size(sizes)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    strides = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    options = {"dtype": _C.int64, "device": indices.device}
    slices = _C.div(indices.unsqueeze(-1), _C.tensor(strides, **options), rounding_mode="floor")
    return _C.remainder(slices, _C.tensor(sizes, **options)).unbind(-1)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Return input.expand(size)."""
    return input.expand(size)


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    _need_tensor(input, "numel", "input", 1)
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Are the elements of a floating dtype?"""
    _need_tensor(input, "is_floating_point", "input", 1)
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Are the elements complex?"""
    _need_tensor(input, "is_complex", "input", 1)
    return input.is_complex()


def imag(input: Tensor) -> Tensor:
    """Return the imaginary part, which real tensors do not have."""
    _need_tensor(input, "imag", "input", 1)
    return input.imag


def is_nonzero(input: Tensor) -> bool:
    """Is the only element not 0?"""
    _need_tensor(input, "is_nonzero", "input", 1)
    return bool(input)


# ---- matrices ----


def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """linalg.multi_dot(), which PyTorch recommends instead."""
    from .linalg import multi_dot

    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
        "parameters.",
        stacklevel=2,
    )
    if len(matrices) == 1 and not isinstance(matrices[0], _C.Tensor):
        matrices = tuple(matrices[0])
    if len(matrices) == 1:
        return matrices[0] if out is None else out.resize_(matrices[0].shape).copy_(matrices[0])
    return multi_dot(matrices, out=out)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Tensor | None = None) -> Any:
    """linalg.lu_factor(), or with get_infos linalg.lu_factor_ex()."""
    results = tuple(_C._lu_with_info(A, pivot=pivot, check_errors=False))[: 3 if get_infos else 2]
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for each, result in zip(out, results):
        each.resize_(result.shape).copy_(result)
    return out
