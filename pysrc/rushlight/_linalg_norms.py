"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math

from . import _C
from ._C import _nn
from ._tensor import _TYPE_NAMES, _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype


_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}


def _need_matrix_of(A, who):
    if A.ndim < 2:
        raise RuntimeError(f"{who}: The input tensor must have at least 2 dimensions.")


def _deliver(result, out):
    """The result, or ``out`` with its values and shape."""
    if out is None:
        return result
    if _C.is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def _need_matrix(A, who, name="A"):
    if A.ndim < 2:
        raise RuntimeError(f"{who}: The input tensor {name} must have at least 2 dimensions.")


def _order_name(order):
    return f"{order:g}" if isinstance(order, (int, float)) else order


def matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute a norm of matrices.

    Parameters
    ----------
    input : Tensor
        (..., m, n), floating.
    ord : {'fro', 'nuc', inf, -inf, 1, -1, 2, -2}, default 'fro'
        Frobenius norm, sum of singular values, largest (smallest) sum of rows or columns, or singular value.
    dim : tuple of 2 ints, default (-2, -1)
        Dimensions of the matrices.
    keepdim : bool, default False
        Keep these dimensions, with size 1.
    dtype : dtype, optional
        dtype to compute in.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The norms.

    Raises
    ------
    RuntimeError
        If `ord` is unknown or dimensions or dtypes do not fit.
    IndexError
        If there is no such dimension.

    Notes
    -----
    Same as torch.linalg.matrix_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.linalg.matrix_norm.html

    Examples
    --------
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    who = "linalg.matrix_norm"
    _need_tensor(input, "linalg_matrix_norm", "input", 1)
    _need_matrix(input, who)
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    if not input.is_floating_point():
        raise RuntimeError(
            f"{who}: Expected a floating point or complex tensor as input. Got {_TITLE[input.dtype]}"
        )
    if len(given) != 2:
        raise RuntimeError(f"{who}: dim must be a 2-tuple. Got {' '.join(map(str, given))}")
    rows, cols = (_wrapped(d, input.ndim) for d in given)
    if rows == cols:
        raise RuntimeError(f"{who}: dims must be different. Got ({given[0]}, {given[1]})")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{who}: dtype should be floating point or complex, but got {_TITLE[dtype]}")
    if ord == "fro":
        return _deliver(_nn.linalg_vector_norm(input, 2, (rows, cols), keepdim, dtype=dtype), out)
    if ord != "nuc" and (isinstance(ord, str) or abs(ord) not in (1, 2, math.inf)):
        raise RuntimeError(f"{who}: Order {_order_name(ord)} not supported.")
    input = input if dtype is None else _widened(input, dtype, who)
    if ord == "nuc" or abs(ord) == 2:
        if input.dtype not in (_C.float32, _C.float64):
            raise RuntimeError(f"{who}: Low precision dtypes not supported. Got {_TITLE[input.dtype]}")
        values = _nn.linalg_svdvals(input.movedim((rows, cols), (-2, -1)))
        result = values.sum(-1) if ord == "nuc" else _extreme(values, -1, ord > 0)
        if keepdim:
            first, second = sorted((rows, cols))
            result = result.unsqueeze(first).unsqueeze(second)
        return _deliver(result, out)
    summed, left = (cols, rows) if abs(ord) == math.inf else (rows, cols)
    sums = _nn.linalg_vector_norm(input, 1, summed, keepdim)
    left -= not keepdim and summed < left
    return _deliver(_extreme(sums, left, ord > 0, keepdim), out)


def _widened(A, dtype, who):
    if A.dtype not in (dtype, _C.float16, _C.bfloat16) and dtype is not _C.float64:
        raise RuntimeError(
            f"{who}: the dtype of the input ({_TITLE[A.dtype]}) should be convertible without narrowing to "
            f"the specified dtype ({_TITLE[dtype]})"
        )
    return A.to(dtype)


def _extreme(values, dim, largest, keepdim=False):
    """The largest of all, 0 of none; or the smallest, which there must be."""
    if largest and values.shape[dim] == 0:
        return values.sum(dim, keepdim)
    return values.amax(dim, keepdim) if largest else values.amin(dim, keepdim)


def _wrapped(dim, ndim):
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
        )
    return dim % ndim


def norm(
    input: Tensor,
    ord: Any = None,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """Compute a norm of vectors or matrices.

    Parameters
    ----------
    input : Tensor
        Floating tensor.
    ord : float or str, optional
        Order: as of vector_norm() for vectors, of matrix_norm() for matrices. The 2-norm of all elements if
        not given.
    dim : int or tuple of ints, optional
        Dimensions: one of vectors, two of matrices.
    keepdim : bool, default False
        Keep these dimensions, with size 1.
    out : Tensor, optional
        Where the result goes.
    dtype : dtype, optional
        dtype to compute in.

    Returns
    -------
    Tensor
        The norms.

    Raises
    ------
    RuntimeError
        If `ord` or the dimensions do not fit.

    Notes
    -----
    Same as torch.linalg.norm: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.norm.html

    Examples
    --------
    >>> A = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> torch.linalg.norm(A), torch.linalg.norm(A, 1), torch.linalg.norm(A, dim=0)
    (tensor(5.), tensor(4.), tensor([3., 4.]))
    """
    _need_tensor(input, "linalg_norm", "input", 1)
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and input.ndim not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if isinstance(ord, str):
        if dims is None and input.ndim > 2:
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                f"Got {input.ndim}D."
            )
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    if ord is not None and (len(dims) == 2 if dims is not None else input.ndim == 2):
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    return _deliver(_nn.linalg_vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype), out)


def cond(input: Tensor, p: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the condition number of matrices: the norm of A times that of its inverse.

    Parameters
    ----------
    input : Tensor
        (..., m, n); square but for `p` None, 2 and -2.
    p : {None, 'fro', 'nuc', inf, -inf, 1, -1, 2, -2}, optional
        Norm; 2 if not given.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (...).

    Raises
    ------
    RuntimeError
        If `p` is unknown or a matrix not square.

    Notes
    -----
    Same as torch.linalg.cond: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.cond.html

    Examples
    --------
    >>> round(torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]])).item(), 4)
    2.0
    """
    _need_tensor(input, "linalg_cond", "input", 1)
    _need_matrix_of(input, "linalg.cond")
    input = _C._autocast(input, "float32")
    known = ("fro", "nuc") if isinstance(p, str) else (None, 1, -1, 2, -2, math.inf, -math.inf)
    if p not in known:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {_order_name(p)}")
    if input.numel() == 0:
        return _deliver(input.new_zeros(input.shape[:-2]), out)
    if p in (None, 2, -2):
        values = _nn.linalg_svdvals(input)
        largest, smallest = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
        result = smallest / largest if p == -2 else largest / smallest
        return _deliver(result.squeeze(-1), out)
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={_order_name(p)}): A must be batches of square matrices, "
            f"but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if p == "nuc":
        values = _nn.linalg_svdvals(input)
        return _deliver(values.sum(-1) * (1 / values).sum(-1), out)
    inverse, info = _nn.linalg_inv_ex(input)
    singular = (info > 0).unsqueeze(-1).unsqueeze(-1)
    inverse = inverse.masked_fill(singular, math.inf)
    result = matrix_norm(input, p) * matrix_norm(inverse, p)
    return _deliver(_C.where(result.isnan(), math.inf, result), out)
