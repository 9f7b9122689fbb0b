"""Products of vectors, matrices and tensors, and what undoes them."""

from __future__ import annotations

import math

from . import _C
from ._C import _nn
from ._linalg_norms import _TITLE, _deliver
from ._products import _best_splits, _matrices_of_chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import Tensor


def _of_batch(found, batch):
    """What was found of matrices that B's batch repeated: once for each matrix."""
    for dim, n in enumerate(batch if found.numel() else ()):
        found = found.narrow(dim, 0, n)
    return found


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonals of matrices, as a view.

    Parameters
    ----------
    A : Tensor
        (..., m, n).
    offset : int, default 0
        Which diagonal: above the main one if positive, below it if negative.
    dim1 : int, default -2
        Dimension of the rows.
    dim2 : int, default -1
        Dimension of the columns.

    Returns
    -------
    Tensor
        The other dimensions, then the diagonal.

    Notes
    -----
    Same as torch.linalg.diagonal: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.diagonal.html

    Examples
    --------
    >>> torch.linalg.diagonal(torch.arange(4).reshape(2, 2))
    tensor([0, 3])
    """
    return A.diagonal(offset, dim1, dim2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Compute dot products of vectors along a dimension.

    Parameters
    ----------
    x : Tensor
        First vectors, floating.
    y : Tensor
        Second vectors; shapes broadcast.
    dim : int, default -1
        Dimension of the vectors.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The other dimensions.

    Raises
    ------
    RuntimeError
        If the dtype is not floating.

    Notes
    -----
    Same as torch.linalg.vecdot: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.vecdot.html

    Examples
    --------
    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    if not x.is_floating_point():
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {_TITLE[x.dtype]}"
        )
    x, y = _C._autocast(x, "lower"), _C._autocast(y, "lower")
    if x.ndim == 1 and y.ndim == 1:
        return _deliver(_C.dot(x, y), out)
    return _deliver((x * y).sum(dim), out)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Make Vandermonde matrices: the powers of the elements of vectors, from 0.

    Parameters
    ----------
    x : Tensor
        (..., n).
    N : int, optional
        Number of powers; n if not given.

    Returns
    -------
    Tensor
        (..., n, N).

    Raises
    ------
    RuntimeError
        If the dtype is not supported or `N` is not greater than 1.

    Notes
    -----
    Same as torch.linalg.vander: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.vander.html

    Examples
    --------
    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype is _C.bool or (x.is_floating_point() and x.dtype not in (_C.float32, _C.float64)):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {_TITLE[x.dtype]}"
        )
    n = x.shape[-1] if N is None and x.ndim else N
    if x.ndim == 0 or n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return _C.cat((_C.ones_like(powers.narrow(-1, 0, 1)), powers), -1)


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Multiply two or more matrices, in the order that takes the fewest operations.

    Parameters
    ----------
    tensors : sequence of Tensors
        Matrices; the first and the last may be vectors.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The product.

    Raises
    ------
    RuntimeError
        If there are less than two, or shapes or dtypes do not fit.

    Notes
    -----
    Same as torch.linalg.multi_dot: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.multi_dot.html

    Examples
    --------
    >>> torch.linalg.multi_dot([torch.ones(10, 100), torch.ones(100, 5), torch.ones(5, 50)]).shape
    torch.Size([10, 50])
    """
    matrices = _matrices_of_chain(tensors)
    split = _best_splits([m.shape[0] for m in matrices] + [matrices[-1].shape[1]])

    def product(i, j):
        return matrices[i] if i == j else _C.mm(product(i, split[i, j]), product(split[i, j] + 1, j))

    result = product(0, len(matrices) - 1)
    shape = [n for n, t in ((result.shape[0], tensors[0]), (result.shape[1], tensors[-1])) if t.ndim == 2]
    return _deliver(result.view(shape), out)


def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the first columns of a product of Householder reflections, as geqrf() returns them.

    Parameters
    ----------
    input : Tensor
        Reflections, (..., m, n), below the diagonal.
    tau : Tensor
        Their factors, (..., k).
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (..., m, n).

    Raises
    ------
    RuntimeError
        If the shapes do not fit.

    Notes
    -----
    Same as torch.linalg.householder_product:
    https://docs.pytorch.org/docs/2.13/generated/torch.linalg.householder_product.html

    Examples
    --------
    >>> A = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> Q = torch.linalg.householder_product(*torch.geqrf(A))
    >>> torch.allclose(Q.mT @ Q, torch.eye(2), atol=1e-6)
    True
    """
    if out is not None:
        return _nn.linalg_householder_product(input, tau, out=out)
    q = _nn.linalg_householder_product(input, tau)  # checks them, too
    if not q.requires_grad:
        return q
    one = _C.eye(*input.shape[-2:], dtype=input.dtype)
    v, q = input.tril(-1) + one, one.expand(input.shape)
    for i in reversed(range(tau.shape[-1])):
        column = v.narrow(-1, i, 1)
        q = q - tau.narrow(-1, i, 1).unsqueeze(-1) * (column * (column * q).sum(-2, keepdim=True))
    return q


def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of a tensor as a linear map from its last dimensions to its first `ind`.

    Parameters
    ----------
    input : Tensor
        Tensor; the product of its first `ind` sizes is that of the others.
    ind : int, default 2
        Number of dimensions.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The last sizes, then the first.

    Raises
    ------
    RuntimeError
        If `ind` or the sizes do not fit, or there is no inverse.

    Notes
    -----
    Same as torch.linalg.tensorinv: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.tensorinv.html

    Examples
    --------
    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {input.ndim}")
    first, last = input.shape[:ind], input.shape[ind:]
    rows, cols = math.prod(last), math.prod(first)
    if rows != cols:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {rows} != {cols}"
        )
    return _deliver(_nn.linalg_inv(input.reshape(cols, rows)).reshape(*last, *first), out)


def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Solve ``tensordot(A, X, X.ndim) = B`` for X.

    Parameters
    ----------
    input : Tensor
        A, of the shape (*B's, *X's).
    other : Tensor
        B.
    dims : tuple of ints, optional
        Dimensions of A to move to its end first.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        X.

    Raises
    ------
    RuntimeError
        If the sizes do not fit or there is no solution.

    Notes
    -----
    Same as torch.linalg.tensorsolve:
    https://docs.pytorch.org/docs/2.13/generated/torch.linalg.tensorsolve.html

    Examples
    --------
    >>> A = torch.eye(6).reshape(2, 3, 6)
    >>> torch.linalg.tensorsolve(A, torch.arange(6.0).reshape(2, 3))
    tensor([0., 1., 2., 3., 4., 5.])
    """
    if dims is not None:
        moved = (dims,) if isinstance(dims, int) else tuple(dims)
        input = input.movedim(moved, tuple(range(input.ndim - len(moved), input.ndim)))
    shape = input.shape[other.ndim :]
    rows, cols = math.prod(input.shape[: other.ndim]), math.prod(shape)
    if rows != cols:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {cols} != {rows}"
        )
    return _deliver(_nn.linalg_solve(input.reshape(rows, cols), other.flatten()).reshape(shape), out)
