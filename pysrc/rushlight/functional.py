"""Functions of tensors that are made of others.

PyTorch has those of ``__all__`` in its module of this name; the others belong to the package itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from . import _C, _exports, _missing
from ._C import norm, split  # noqa: F401
from ._tensor import _TYPE_NAMES, _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Size, Tensor

    from ._einsum import cdist, einsum, tensordot  # noqa: F401
    from ._tensor_functions import (  # noqa: F401
        atleast_1d,
        atleast_2d,
        atleast_3d,
        block_diag,
        cartesian_prod,
        meshgrid,
    )


__all__ = [
    *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors"),
    *("cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "tensordot"),
    *("unique", "unique_consecutive", "unravel_index"),
]
__getattr__ = _missing.module_getattr(__name__)
_exports.load(globals())
__dir__ = _missing.module_dir(__name__)


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of several shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of ints or int
        Shapes.

    Returns
    -------
    Size
        The joint shape.

    Raises
    ------
    RuntimeError
        If there is none.

    Notes
    -----
    Same as torch.broadcast_shapes: https://docs.pytorch.org/docs/2.13/generated/torch.broadcast_shapes.html

    Examples
    --------
    >>> torch.broadcast_shapes((2, 1), (3, 1, 5))
    torch.Size([3, 2, 5])
    """
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
    """Broadcast tensors to their joint shape.

    Parameters
    ----------
    *tensors : Tensor
        Tensors, or one list of them.

    Returns
    -------
    tuple of Tensors
        Views of that shape.

    Raises
    ------
    RuntimeError
        If there is none.

    Notes
    -----
    Same as torch.broadcast_tensors: https://docs.pytorch.org/docs/2.13/generated/torch.broadcast_tensors.html

    Examples
    --------
    >>> a, b = torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3], [4]]))
    >>> a
    tensor([[1, 2],
            [1, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = _C.Size()
    for t in tensors:
        if t.shape != shape:
            shape = _joined(shape, t.shape)
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


def unravel_index(indices: Tensor, shape: int | Sequence[int] | Size) -> tuple[Tensor, ...]:
    """Convert flat indices to indices along each dimension.

    Parameters
    ----------
    indices : Tensor
        Indices into the flattened tensor, of an integer dtype.
    shape : int or sequence of ints
        Shape of the tensor.

    Returns
    -------
    tuple of Tensors
        One for each dimension.

    Raises
    ------
    TypeError
        If a dtype or type is wrong.
    ValueError
        If a size is negative.

    Notes
    -----
    Same as torch.unravel_index: https://docs.pytorch.org/docs/2.13/generated/torch.unravel_index.html

    Examples
    --------
    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
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
    """Broadcast a tensor to a shape.

    Parameters
    ----------
    input : Tensor
        Tensor.
    size : sequence of ints
        Shape.

    Returns
    -------
    Tensor
        View of that shape.

    Notes
    -----
    Same as torch.broadcast_to: https://docs.pytorch.org/docs/2.13/generated/torch.broadcast_to.html

    Examples
    --------
    >>> torch.broadcast_to(torch.tensor([1, 2]), (3, 2)).shape
    torch.Size([3, 2])
    """
    return input.expand(size)


def numel(input: Tensor) -> int:
    """Return the number of elements of a tensor.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    int
        The number.

    Notes
    -----
    Same as torch.numel: https://docs.pytorch.org/docs/2.13/generated/torch.numel.html

    Examples
    --------
    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    _need_tensor(input, "numel", "input", 1)
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Test whether the dtype of a tensor is a floating one.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    bool
        Whether it is.

    Notes
    -----
    Same as torch.is_floating_point: https://docs.pytorch.org/docs/2.13/generated/torch.is_floating_point.html

    Examples
    --------
    >>> torch.is_floating_point(torch.tensor([1, 2]))
    False
    """
    _need_tensor(input, "is_floating_point", "input", 1)
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Test whether the dtype of a tensor is complex.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    bool
        Whether it is.

    Notes
    -----
    Same as torch.is_complex: https://docs.pytorch.org/docs/2.13/generated/torch.is_complex.html

    Examples
    --------
    >>> torch.is_complex(torch.tensor([1.0]))
    False
    """
    _need_tensor(input, "is_complex", "input", 1)
    return input.is_complex()


def imag(input: Tensor) -> Tensor:
    """Return the imaginary part of a tensor, which real tensors do not have.

    Parameters
    ----------
    input : Tensor
        Complex tensor.

    Returns
    -------
    Tensor
        The imaginary part.

    Raises
    ------
    RuntimeError
        If the tensor is real.

    Notes
    -----
    Same as torch.imag: https://docs.pytorch.org/docs/2.13/generated/torch.imag.html
    """
    _need_tensor(input, "imag", "input", 1)
    return input.imag


def is_nonzero(input: Tensor) -> bool:
    """Test whether the only element of a tensor is not 0.

    Parameters
    ----------
    input : Tensor
        Tensor of one element.

    Returns
    -------
    bool
        Whether it is not.

    Raises
    ------
    RuntimeError
        If there is another number of elements.

    Notes
    -----
    Same as torch.is_nonzero: https://docs.pytorch.org/docs/2.13/generated/torch.is_nonzero.html

    Examples
    --------
    >>> torch.is_nonzero(torch.tensor([0.0]))
    False
    """
    _need_tensor(input, "is_nonzero", "input", 1)
    return bool(input)


# ---- matrices ----


def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """Multiply several matrices. Deprecated, with a warning: use linalg.multi_dot().

    Parameters
    ----------
    *matrices : Tensor
        Matrices.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The product.

    Notes
    -----
    Same as torch.chain_matmul: https://docs.pytorch.org/docs/2.13/generated/torch.chain_matmul.html
    """
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
    """Compute the LU factorization of matrices. Deprecated, with a warning: use linalg.lu_factor().

    Parameters
    ----------
    A : Tensor
        (..., m, n).
    pivot : bool, default True
        Exchange rows.
    get_infos : bool, default False
        Also return numbers that are not 0 where a matrix is singular.
    out : tuple of Tensors, optional
        Where the results go.

    Returns
    -------
    tuple of Tensors
        L and U in one matrix, and the pivots.

    Notes
    -----
    Same as torch.lu: https://docs.pytorch.org/docs/2.13/generated/torch.lu.html
    """
    results = tuple(_C._lu_with_info(A, pivot=pivot, check_errors=False))[: 3 if get_infos else 2]
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for each, result in zip(out, results):
        each.resize_(result.shape).copy_(result)
    return out


# ---- elements without their repetitions: unique() and unique_consecutive() ----
# ---- runs of equal neighbours ----


def _counts(starts, n):
    ends = _C.cat([starts[1:], _C.full((min(n, 1),), n, device=starts.device)])
    return ends - starts


def _answer(values, inverse, counts):
    results = tuple(part for part in (values, inverse, counts) if part is not None)
    return results if len(results) > 1 else values


# ---- of elements and of slices ----


def _of_elements(x, in_order, with_inverse, with_counts):
    """Values, inverse and counts of all elements; in_order: equal ones need not be neighbours."""
    flat = x.reshape(-1)
    n = flat.numel()
    order = None
    if in_order and n:
        flat, order = flat.sort(stable=True)
    marks = _C._nn._run_marks(flat)
    starts = marks.nonzero().flatten()
    inverse = counts = None
    if with_inverse:
        inverse = marks.cumsum(0) - 1
        if order is not None:
            inverse = _C.empty_like(inverse).index_copy_(0, order, inverse)
        inverse = inverse.reshape(x.shape)
    if with_counts:
        counts = _counts(starts, n)
    return flat[starts], inverse, counts


def _of_slices(x, dim, in_order, with_inverse, with_counts):
    """The same of the slices along dim."""
    n = x.shape[dim]
    rows = x.movedim(dim, 0).reshape(n, math.prod(x.shape[:dim] + x.shape[dim + 1 :]))
    order = _C._nn._sort_rows(rows) if in_order else None
    if in_order:
        rows = rows[order]
    differs = (rows[1:] != rows[:-1]).any(1)
    marks = _C.cat([_C.ones(min(n, 1), dtype=_C.bool, device=x.device), differs])
    starts = marks.nonzero().flatten()
    inverse = counts = None
    if with_inverse:
        inverse = marks.cumsum(0) - 1
        if order is not None:
            inverse = _C.empty_like(inverse).index_copy_(0, order, inverse)
    if with_counts:
        counts = _counts(starts, n)
    chosen = starts if order is None else order[starts]
    return x.index_select(dim, chosen), inverse, counts


def _checked_dim(x, dim):
    n = x.dim()
    if n == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    dim %= n
    if x.numel() == 0:
        zeros = sum(size == 0 for size in x.shape)
        if zeros > 1:
            raise RuntimeError(
                "Number of zero sized dimensions is more than one, so unique cannot be applied "
            )
        if x.shape[dim]:
            raise RuntimeError(
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            )
    return dim


def _without_gradient(values, x, name):
    """Values that depend on x: a backward through them raises, as in PyTorch, instead of losing it."""
    if not (x.requires_grad and _C.is_grad_enabled()):
        return values
    from .autograd.function import Function

    class Unique(Function):
        @staticmethod
        def forward(ctx, x, values):
            return values.clone()

        @staticmethod
        def backward(ctx, grad):
            raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return Unique.apply(x, values)


def _unique(x, in_order, with_inverse, with_counts, dim):
    data = x.detach()
    if dim is None:
        name = "_unique2" if in_order else "unique_consecutive"
        values, *more = _of_elements(data, in_order, with_inverse, with_counts)
    else:
        name = "unique_dim" if in_order else "unique_dim_consecutive"
        values, *more = _of_slices(data, _checked_dim(x, dim), in_order, with_inverse, with_counts)
    return _answer(_without_gradient(values, x, name), *more)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the unique elements of a tensor, sorted.

    NaNs differ from each other.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    sorted : bool, default True
        Accepted; the result is always sorted.
    return_inverse : bool, default False
        Also return where each element of the input stands in the result.
    return_counts : bool, default False
        Also return how often each occurs.
    dim : int, optional
        Compare the slices along this dimension; elements if not given.

    Returns
    -------
    Tensor or tuple of Tensors
        Unique elements, and what else is asked for.

    Notes
    -----
    Same as torch.unique: https://docs.pytorch.org/docs/2.13/generated/torch.unique.html

    Examples
    --------
    >>> torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    >>> torch.unique(torch.tensor([[1, 2], [0, 1], [1, 2]]), dim=0)
    tensor([[0, 1],
            [1, 2]])
    """
    _need_tensor(input, "_unique2" if dim is None else "unique_dim", "input", 1)
    return _unique(input, True, return_inverse, return_counts, dim)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements of a tensor without those that equal the one before them.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    return_inverse : bool, default False
        Also return where each element of the input stands in the result.
    return_counts : bool, default False
        Also return the length of each run.
    dim : int, optional
        Compare the slices along this dimension; elements if not given.

    Returns
    -------
    Tensor or tuple of Tensors
        The elements, and what else is asked for.

    Notes
    -----
    Same as torch.unique_consecutive:
    https://docs.pytorch.org/docs/2.13/generated/torch.unique_consecutive.html

    Examples
    --------
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 2, 1]), return_counts=True)
    (tensor([1, 2, 1]), tensor([2, 3, 1]))
    """
    _need_tensor(input, "unique_consecutive", "input", 1)
    return _unique(input, False, return_inverse, return_counts, dim)


# ---- whether tensors are equal, or nearly so ----
_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: Tensor | float | None = 1e-05,
    atol: Tensor | float | None = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Test which elements of two tensors are close: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor, of the same dtype; shapes broadcast.
    rtol : float, default 1e-05
        Relative tolerance.
    atol : float, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        NaN is close to NaN.

    Returns
    -------
    Tensor
        Of bool.

    Raises
    ------
    RuntimeError
        If the dtypes differ or a tolerance is negative.

    Notes
    -----
    Same as torch.isclose: https://docs.pytorch.org/docs/2.13/generated/torch.isclose.html

    Examples
    --------
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
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
    """Test whether all elements of two tensors are close: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor, of the same dtype; shapes broadcast.
    rtol : float, default 1e-05
        Relative tolerance.
    atol : float, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        NaN is close to NaN.

    Returns
    -------
    bool
        Whether all are.

    Raises
    ------
    RuntimeError
        If the dtypes differ or a tolerance is negative.

    Notes
    -----
    Same as torch.allclose: https://docs.pytorch.org/docs/2.13/generated/torch.allclose.html

    Examples
    --------
    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.0]))
    True
    """
    _need_tensor(input, "allclose", "input", 1)
    _need_tensor(other, "allclose", "other", 2)
    return isclose(input, other, rtol, atol, equal_nan).all().item()


def equal(input: Tensor, other: Tensor) -> bool:
    """Test whether two tensors have the same shape and the same elements.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor.

    Returns
    -------
    bool
        Whether they have.

    Notes
    -----
    Same as torch.equal: https://docs.pytorch.org/docs/2.13/generated/torch.equal.html

    Examples
    --------
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    _need_tensor(input, "equal", "input", 1)
    _need_tensor(other, "equal", "other", 2)
    if input.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors")
    return _C._nn._equal(input, other).item()


for _name in _exports.AT_ONCE["rushlight"]["functional"].split():
    if _name not in __all__:
        globals()[_name].__module__ = "rushlight"
