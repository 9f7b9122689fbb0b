"""Transforms to matrices: Cholesky factors, positive definite and correlation matrices."""

import math

import rushlight
from rushlight.nn import functional as F

from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from ._base import Plain, Transform, need_dims


def _through_diagonal(matrix, function):
    """Lower triangular matrices whose diagonals went through a function."""
    return matrix.tril(-1) + function(matrix.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Plain):
    """Any matrices to lower triangular ones with a positive diagonal, which is exp() of theirs."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return _through_diagonal(x, rushlight.exp)

    def _inverse(self, y):
        return _through_diagonal(y, rushlight.log)


class PositiveDefiniteTransform(Plain):
    """Any matrices to positive definite ones: L @ L.mT of the LowerCholeskyTransform."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(rushlight.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of D * (D - 1) / 2 elements to Cholesky factors of D x D correlation matrices.

    tanh() of the elements fills the rows below the diagonal; there the square of each says which part it
    takes of what is left of the row's length, which is 1.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = x.tanh()
        eps = rushlight.finfo(x.dtype).eps
        part = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - part**2).sqrt().cumprod(-1)
        part = part + rushlight.eye(part.shape[-1], dtype=part.dtype, device=part.device)
        return part * _shifted(left)

    def _inverse(self, y):
        left = _shifted(1 - (y * y).cumsum(dim=-1))
        part = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (part.log1p() - part.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        # of x and the elements below y's diagonal; from diagonal -2 on, what is left needs no shift
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_sticks = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape):
        need_dims(shape)
        n = shape[-1]
        rows = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if rows * (rows - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (rows, rows)

    def inverse_shape(self, shape):
        need_dims(shape, 2)
        rows = shape[-1]
        if shape[-2] != rows:
            raise ValueError("Input is not square")
        return shape[:-2] + (rows * (rows - 1) // 2,)


def _shifted(left):
    """Move columns one to the right; the first finds all of the length left."""
    return F.pad(left[..., :-1], [1, 0], value=1)
