"""Singular values of matrices that are nearly of low rank (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from . import _C, _homes, linalg

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
    """Return U, S and V of nearly A - M, with q columns."""
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
    """Return svd_lowrank() of A, without the means of its columns if center."""
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
    """Return the sum of the singular values of a matrix, or of those in two dimensions.

    ``nuclear_norm(input, keepdim)`` is taken as well. Deprecated: ``linalg.matrix_norm(input, "nuc")``.
    """
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    if dim is None and input.dim() != 2:
        raise RuntimeError(
            f"Expected a tensor with 2 dimensions, but got a tensor with {input.dim()} dimensions"
        )
    return linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


_homes.adopt("rushlight", nuclear_norm, pca_lowrank, svd_lowrank)
