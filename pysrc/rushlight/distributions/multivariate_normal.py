"""The normal distribution of vectors."""

import math
from operator import attrgetter

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Multiply matrices and vectors, whose batch dims broadcast."""
    return rushlight.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _log_det(tril):
    """Return the log of triangular matrices' determinants."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _batch_mahalanobis(bL, bx):  # noqa: N803
    """Return x.T @ inv(L @ L.T) @ x; the batch dims of L must be the last ones of x, or 1.

    Each matrix is solved once, for all the vectors that it meets: those of the dims of x that L lacks, and
    of those where L has 1.
    """
    n = bx.size(-1)
    shape = bx.shape[:-1]
    outer = len(shape) - (bL.dim() - 2)
    # a dim of x becomes two: how often L's dim goes into it, and L's dim
    split = shape[:outer]
    for of_l, of_x in zip(bL.shape[:-2], shape[outer:]):
        split += (of_x // of_l, of_l)
    times, own = range(outer, len(split), 2), range(outer + 1, len(split), 2)
    order = [*range(outer), *times, *own]
    x = bx.reshape(split + (n,)).permute([*order, len(split)])
    flat_l = bL.reshape(-1, n, n)
    flat_x = x.reshape(-1, flat_l.size(0), n).permute(1, 2, 0)
    solved = rushlight.linalg.solve_triangular(flat_l, flat_x, upper=False)
    squared = solved.pow(2).sum(-2).t().reshape(x.shape[:-1])
    back = [order.index(dim) for dim in range(len(split))]
    return squared.permute(back).reshape(shape)


def _precision_to_scale_tril(P):  # noqa: N803
    """Return the Cholesky factor of inv(P): that of P from its last row on, turned round and inverted."""
    factor = rushlight.linalg.cholesky(P.flip((-2, -1)))
    inverse = factor.flip((-2, -1)).transpose(-2, -1)
    identity = rushlight.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return rushlight.linalg.solve_triangular(inverse, identity, upper=False)


def one_matrix(error, **matrices):
    """Return name and value of the one matrix that is given, else raise an error."""
    given = [(name, value) for name, value in matrices.items() if value is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def to_scale_tril(name, matrix):
    """Return the Cholesky factor of the covariance that a matrix of this name says."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return rushlight.linalg.cholesky(matrix)
    return _precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: the mean, a vector or a batch of them (ValueError).
        covariance_matrix, precision_matrix, scale_tril: the covariance, its inverse or its Cholesky factor;
            just one of them is given. scale_tril is the fastest, since the others lead to it.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(
            ValueError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{what} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = rushlight.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)

    def expand(self, batch_shape, _instance=None):
        batched = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
        kept = ("_unbroadcasted_scale_tril",)
        return self._expanded(MultivariateNormal, batch_shape, _instance, batched, kept)

    def _broadcast(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._broadcast(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        return self._broadcast(rushlight.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(attrgetter("loc"))

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=_SINGLE):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + _log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
