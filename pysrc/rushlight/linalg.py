"""Linear algebra, as torch.linalg: its factorisations are operators, the rest is made of them."""

from __future__ import annotations

import math

from . import _C, _missing
from ._C import _LinAlgError as LinAlgError
from ._C import _nn
from ._einsum import _best_splits, _matrices_of_chain
from ._tensor import _TYPE_NAMES, _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import Tensor, dtype

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

cholesky = _nn.linalg_cholesky
cholesky_ex = _nn.linalg_cholesky_ex
cross = _nn.linalg_cross
det = _nn.linalg_det
eig = _nn.linalg_eig
eigh = _nn.linalg_eigh
eigvals = _nn.linalg_eigvals
eigvalsh = _nn.linalg_eigvalsh
inv = _nn.linalg_inv
inv_ex = _nn.linalg_inv_ex
ldl_factor = _nn.linalg_ldl_factor
ldl_factor_ex = _nn.linalg_ldl_factor_ex
ldl_solve = _nn.linalg_ldl_solve
lu = _nn.linalg_lu
lu_factor = _nn.linalg_lu_factor
lu_factor_ex = _nn.linalg_lu_factor_ex
lu_solve = _nn.linalg_lu_solve
matmul = _C.matmul
matrix_exp = _nn.linalg_matrix_exp
matrix_power = _nn.linalg_matrix_power
qr = _nn.linalg_qr
slogdet = _nn.linalg_slogdet
solve = _nn.linalg_solve
solve_ex = _nn.linalg_solve_ex
solve_triangular = _nn.linalg_solve_triangular
svd = _nn.linalg_svd
svdvals = _nn.linalg_svdvals
vector_norm = _nn.linalg_vector_norm


# ---- norms of vectors and matrices, and condition numbers ----
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


# ---- products of vectors, matrices and tensors, and what undoes them ----
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


# ---- ranks, pseudoinverses and least squares ----
_EPS = {_C.float32: 2**-23, _C.float64: 2**-52}


def _limit(value, A):
    if value is None or isinstance(value, _C.Tensor):
        return value if value is None or value.dtype in (_C.float32, _C.float64) else value.to(A.dtype)
    return _C.full((), float(value), dtype=A.dtype)


def pinv(
    input: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute the pseudoinverse (Moore-Penrose inverse) of matrices.

    Parameters
    ----------
    input : Tensor
        (..., m, n).
    rcond : float or Tensor, optional
        Older name of `rtol`.
    hermitian : bool, default False
        The matrices are symmetric.
    atol : float or Tensor, optional
        Singular values up to ``max(atol, rtol * largest)`` count as 0; 0 if not given.
    rtol : float or Tensor, optional
        See `atol`; the eps of the dtype times ``max(m, n)``, or 0 with `atol`, if not given.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (..., n, m).

    Notes
    -----
    Same as torch.linalg.pinv: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.pinv.html

    Examples
    --------
    >>> A = torch.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    >>> torch.linalg.pinv(A).abs()
    tensor([[0.5000, 0.0000, 0.0000],
            [0.0000, 0.2500, 0.0000]])
    """
    _need_tensor(input, "linalg_pinv", "input", 1)
    rtol = rcond if rcond is not None else rtol
    return _deliver(_nn._linalg_pinv(input, _limit(atol, input), _limit(rtol, input), hermitian), out)


def matrix_rank(
    input: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute the rank of matrices: the number of singular values that are not nearly 0.

    Parameters
    ----------
    input : Tensor
        (..., m, n), float32 or float64.
    tol : float or Tensor, optional
        Older name of `atol`, with ``rtol=0``.
    hermitian : bool, default False
        The matrices are symmetric.
    atol : float or Tensor, optional
        Singular values up to ``max(atol, rtol * largest)`` do not count; 0 if not given.
    rtol : float or Tensor, optional
        See `atol`; the eps of the dtype times ``max(m, n)``, or 0 with `atol`, if not given.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (...), int64.

    Raises
    ------
    RuntimeError
        If there are less than 2 dimensions or the dtype is another.

    Notes
    -----
    Same as torch.linalg.matrix_rank:
    https://docs.pytorch.org/docs/2.13/generated/torch.linalg.matrix_rank.html

    Examples
    --------
    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    _need_tensor(input, "linalg_matrix_rank", "input", 1)
    if input.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    input = _C._autocast(input, "float32")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0
    with_grad = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        if input.numel() == 0:
            return _deliver(_C.zeros(input.shape[:-2], dtype=_C.int64), out)
        values = _nn.linalg_eigvalsh(input).abs() if hermitian else _nn.linalg_svdvals(input)
        absolute = _C.full((), 0.0, dtype=input.dtype) if atol is None else _limit(atol, input)
        if rtol is None:
            usual = _EPS[input.dtype] * max(input.shape[-2:])
            rtol = _C.where(absolute > 0, 0.0, usual)
        limit = _C.maximum(absolute, _limit(rtol, input) * values.amax(-1))
        return _deliver((values > limit.unsqueeze(-1)).sum(-1), out)
    finally:
        _C._set_grad_enabled(with_grad)


def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: Tensor | float | None = None,
    *,
    driver: str | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solve linear least squares problems: the X for which the norm of A @ X - B is smallest.

    Parameters
    ----------
    input : Tensor
        A, (..., m, n).
    b : Tensor
        B, (..., m, k) or (..., m).
    rcond : float, optional
        Singular values up to it, relative to the largest, count as 0; the eps of the dtype times ``max(m,
        n)`` if not given.
    driver : {'gels', 'gelsy', 'gelsd', 'gelss'}, optional
        Method of LAPACK; 'gelsy' if not given.
    out : tuple of Tensors, optional
        Where the results go.

    Returns
    -------
    named tuple of 4 Tensors
        ``solution``, ``residuals`` (squared, if m > n and the rank is full), ``rank`` and
        ``singular_values``, each empty where the driver does not compute it.

    Raises
    ------
    RuntimeError
        If the shapes do not fit or the driver is unknown.

    Notes
    -----
    Same as torch.linalg.lstsq: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.lstsq.html

    Examples
    --------
    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> X = torch.linalg.lstsq(A, torch.tensor([[1.0], [3.0], [5.0]])).solution
    >>> torch.allclose(X, torch.tensor([[1.0], [2.0]]), atol=1e-5)
    True
    """
    if out is not None:
        return _nn.linalg_lstsq(input, b, rcond, driver=driver, out=out)
    found = _nn.linalg_lstsq(input, b, rcond, driver=driver)
    solution, residuals, rank, values = found
    rank, values = (_of_batch(each, input.shape[:-2]) for each in (rank, values))
    if residuals.numel() and rank.numel() and not (rank == input.shape[-1]).all().item():
        residuals = residuals.flatten()[:0]
    return type(found)((solution, residuals, rank, values))
