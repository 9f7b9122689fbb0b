"""Singular values of matrices that are nearly of low rank (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from . import _C, linalg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def _basis(A, q, niter):
    """Orthonormal columns that nearly span what A maps to."""
    Q = linalg.qr(A @ _C.randn(A.shape[-1], q, dtype=A.dtype))[0]
    for _ in range(niter):
        Q = linalg.qr(A.mT @ Q)[0]
        Q = linalg.qr(A @ Q)[0]
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute a singular value decomposition of nearly low rank, by random projections.

    Parameters
    ----------
    A : Tensor
        (..., m, n).
    q : int, default 6
        Number of singular values, somewhat more than the rank.
    niter : int, default 2
        Number of subspace iterations.
    M : Tensor, optional
        Subtracted from `A` first.

    Returns
    -------
    tuple of 3 Tensors
        U (..., m, q), S (..., q) and V (..., n, q), with ``A`` nearly ``U @ diag(S) @ V.mT``.

    Notes
    -----
    Same as torch.svd_lowrank: https://docs.pytorch.org/docs/2.13/generated/torch.svd_lowrank.html

    References
    ----------
    N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness: Probabilistic algorithms for
    constructing approximate matrix decompositions", 2009, https://arxiv.org/abs/0909.4061

    Examples
    --------
    >>> A = torch.arange(1.0, 5.0).outer(torch.ones(6))
    >>> U, S, V = torch.svd_lowrank(A, q=2)
    >>> torch.allclose(U @ S.diag() @ V.mT, A, atol=1e-4)
    True
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    tall = A.mT if wide else A
    Q = _basis(tall, q, niter)
    U, S, Vh = linalg.svd(Q.mT @ tall, full_matrices=False)
    U, V = Q @ U, Vh.mT
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute a principal component analysis (PCA) of nearly low rank, by random projections.

    Parameters
    ----------
    A : Tensor
        (..., m, n): m samples of n features.
    q : int, optional
        Number of components; 6, or fewer for small matrices, if not given.
    center : bool, default True
        Subtract the means of the columns first.
    niter : int, default 2
        Number of subspace iterations.

    Returns
    -------
    tuple of 3 Tensors
        U (..., m, q), S (..., q) and V (..., n, q), whose columns are the components.

    Raises
    ------
    ValueError
        If `q` or `niter` is out of bounds.

    Notes
    -----
    Same as torch.pca_lowrank: https://docs.pytorch.org/docs/2.13/generated/torch.pca_lowrank.html

    Examples
    --------
    >>> U, S, V = torch.pca_lowrank(torch.randn(20, 5), q=2)
    >>> U.shape, S.shape, V.shape
    (torch.Size([20, 2]), torch.Size([2]), torch.Size([5, 2]))
    """
    most = min(A.shape[-2:])
    if q is None:
        q = min(6, most)
    elif not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def nuclear_norm(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Compute the nuclear norm: the sum of singular values. Deprecated: use linalg.matrix_norm().

    Parameters
    ----------
    input : Tensor
        Matrix, or more dimensions with `dim`.
    dim : tuple of 2 ints, optional
        Dimensions of the matrices.
    keepdim : bool, default False
        Keep these dimensions, with size 1.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The norms.

    Examples
    --------
    >>> round(torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).item(), 4)
    7.0
    """
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    if dim is None and input.dim() != 2:
        raise RuntimeError(
            f"Expected a tensor with 2 dimensions, but got a tensor with {input.dim()} dimensions"
        )
    return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)
