"""The little linear algebra that parametrizations need, on matrices or batches of them.

What gradients flow through is written with differentiable operators; geqrf is not, as it only runs where a
weight is set.
"""

from __future__ import annotations

import math

import rushlight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def eye(n: int, like: Any) -> Any:
    """The identity matrix in the dtype and on the device of another tensor."""
    return rushlight.eye(n, dtype=like.dtype, device=like.device)


def diagonal(matrix: Any) -> Any:
    """The diagonals, as a copy."""
    k = min(matrix.size(-2), matrix.size(-1))
    return (matrix[..., :k, :k] * eye(k, matrix)).sum(-1)


def tril(matrix: Any, offset: int = 0) -> Any:
    """The lower triangles: entries with column - row <= offset."""
    rows = rushlight.arange(matrix.size(-2), device=matrix.device).unsqueeze(-1)
    columns = rushlight.arange(matrix.size(-1), device=matrix.device)
    return rushlight.where(columns - rows <= offset, matrix, rushlight.zeros_like(matrix))


def with_diagonal(matrix, values):
    """The matrices with other diagonals: a number, or a vector for each."""
    rows = rushlight.arange(matrix.size(-2), device=matrix.device).unsqueeze(-1)
    columns = rushlight.arange(matrix.size(-1), device=matrix.device)
    k = min(matrix.size(-2), matrix.size(-1))
    if isinstance(values, rushlight.Tensor):
        wide = rushlight.zeros_like(matrix)
        wide[..., :k, :k] = values.unsqueeze(-1) * eye(k, matrix)
    else:
        wide = rushlight.full_like(matrix, values)
    return rushlight.where(columns == rows, wide, matrix)


def geqrf(matrix: Any) -> Any:
    """LAPACK's QR: R in the upper triangle, Householder vectors below the diagonal, and their factors."""
    packed = matrix.detach().clone()
    k = min(matrix.size(-2), matrix.size(-1))
    tau = packed.new_zeros((*matrix.shape[:-2], k))
    for i in range(k):
        head, below = packed[..., i, i], packed[..., i + 1 :, i]
        rest = (below * below).sum(-1)
        length = (head * head + rest).sqrt()
        mirrored = rest != 0  # a column that is zero below its head stays as it is
        to = rushlight.where(mirrored, rushlight.where(head < 0, length, -length), head)
        v = below / rushlight.where(mirrored, head - to, rushlight.ones_like(head)).unsqueeze(-1)
        tau[..., i] = rushlight.where(mirrored, (to - head) / to, rushlight.zeros_like(head))
        row, block = packed[..., i, i + 1 :], packed[..., i + 1 :, i + 1 :]
        step = tau[..., i].unsqueeze(-1) * (row + (v.unsqueeze(-2) @ block).squeeze(-2))
        packed[..., i, i + 1 :] = row - step
        packed[..., i + 1 :, i + 1 :] = block - v.unsqueeze(-1) * step.unsqueeze(-2)
        packed[..., i, i] = to
        packed[..., i + 1 :, i] = v
    return packed, tau


def householder_product(vectors: Any, tau: Any) -> Any:
    """The first columns of H0 H1 ..., where Hi = I - tau_i v_i v_i^T and v_i starts with a 1 in row i."""
    n, k = vectors.size(-2), vectors.size(-1)
    v = tril(vectors, -1)
    v = v + eye(n, vectors)[:, :k]
    q = eye(n, vectors)[:, :k].expand(*vectors.shape[:-2], n, k)
    for i in reversed(range(tau.size(-1))):
        column = v[..., i : i + 1]
        q = q - tau[..., i : i + 1].unsqueeze(-1) * (column * (column * q).sum(-2, keepdim=True))
    return q


def matrix_exp(matrix: Any) -> Any:
    """e to the power of the matrices: Taylor's series of the matrix halved, then squared as often."""
    norm = float(matrix.detach().abs().sum(-1).amax())
    halvings = max(0, math.ceil(math.log2(norm)) + 1) if norm > 0 and math.isfinite(norm) else 0
    small = matrix * 0.5**halvings
    result = term = eye(matrix.size(-1), matrix).expand(matrix.shape)
    for i in range(1, 19):
        term = term @ small * (1.0 / i)
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


def solve(matrix, right):
    """The x with matrix @ x == right, for matrices of which no leading block is singular.

    Elimination without pivots: enough for I - A with A skew symmetric, as x^T (I - A) x = |x|^2.
    """
    n = matrix.size(-1)
    for i in range(n):
        row, answer = matrix[..., i : i + 1, :], right[..., i : i + 1, :]
        pivot = matrix[..., i : i + 1, i : i + 1]
        factors = matrix[..., :, i : i + 1] / pivot
        here = eye(n, matrix)[:, i : i + 1]
        factors = factors * (1 - here) + here * (1 - 1 / pivot)
        matrix = matrix - factors * row
        right = right - factors * answer
    return right
