"""The normal distribution of vectors whose covariance is a diagonal and a matrix of low rank."""

import math
from operator import attrgetter

import rushlight

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, _log_det
from .utils import _SINGLE, _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _with_identity(matrix):
    """Add the identity to a batch of new matrices, in place."""
    matrix = matrix.contiguous()
    n = matrix.size(-1)
    matrix.view(-1, n * n)[:, :: n + 1] += 1
    return matrix


def _batch_capacitance_tril(W, D):  # noqa: N803
    """Return the Cholesky factor of I + W.T @ inv(D) @ W, which has the size of the rank."""
    return rushlight.linalg.cholesky(_with_identity(W.mT / D.unsqueeze(-2) @ W))


def _batch_lowrank_logdet(W, D, capacitance_tril):  # noqa: N803
    """Return log det(W @ W.T + D), by the matrix determinant lemma."""
    return 2 * _log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):  # noqa: N803
    """Return x.T @ inv(W @ W.T + D) @ x, by Woodbury's identity."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance cov_factor @ cov_factor.mT + diag(cov_diag).

    Args:
        loc: the mean, a vector or a batch of them.
        cov_factor: n x rank.
        cov_diag: positive.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = rushlight.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("loc", "cov_diag", "cov_factor")
        kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")
        return self._expanded(LowRankMultivariateNormal, batch_shape, _instance, batched, kept)

    @property
    def _parts(self):
        """What covariances are computed of."""
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _broadcast(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = mode = property(attrgetter("loc"))

    @lazy_property
    def variance(self):
        factor, diagonal = self._parts
        return (factor.pow(2).sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        # D^1/2 @ cholesky(I + (D^-1/2 @ W) @ (...).T): all eigenvalues in there are at least 1
        factor, diagonal = self._parts
        root = diagonal.sqrt().unsqueeze(-1)
        scaled = factor / root
        return self._broadcast(root * rushlight.linalg.cholesky(_with_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self):
        factor, diagonal = self._parts
        return self._broadcast(factor @ factor.mT + diagonal.diag_embed())

    @lazy_property
    def precision_matrix(self):
        factor, diagonal = self._parts
        scaled = factor.mT / diagonal.unsqueeze(-2)
        solved = rushlight.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._broadcast(diagonal.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape=_SINGLE):
        factor, diagonal = self._parts
        shape = self._extended_shape(sample_shape)
        of_rank = shape[:-1] + self.cov_factor.shape[-1:]
        low, full = (_standard_normal(s, self.loc.dtype, self.loc.device) for s in (of_rank, shape))
        return self.loc + _batch_mv(factor, low) + diagonal.sqrt() * full

    def log_prob(self, value):
        difference = self._checked(value) - self.loc
        distance = _batch_lowrank_mahalanobis(*self._parts, difference, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + log_det)).expand(self._batch_shape)
