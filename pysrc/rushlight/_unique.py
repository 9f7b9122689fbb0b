"""Elements without their repetitions: unique() and unique_consecutive()."""

from __future__ import annotations

import math

from . import _C
from ._tensor import _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

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
