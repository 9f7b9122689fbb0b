"""The Wishart distribution."""

import math
import warnings

import rushlight

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _log_det, one_matrix, to_scale_tril
from .utils import _SINGLE, lazy_property

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x, p):
    """Return the multivariate digamma function, the derivative of mvlgamma()."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = rushlight.arange(p, dtype=x.dtype, device=x.device).div(2)
    return (x.unsqueeze(-1) - steps.expand(x.shape + (-1,))).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """The distribution of X.T @ X, where the rows of X are normal vectors with mean 0.

    Args:
        df: the rows of X, more than the matrix has less one (ValueError); a number or a tensor.
        covariance_matrix, precision_matrix, scale_tril: the covariance of a row, its inverse or its
            Cholesky factor; just one of them is given (AssertionError).
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        name, matrix = one_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        batch_shape = matrix.shape[:-2]
        if isinstance(df, (int, float)):
            self.df = rushlight.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = rushlight.broadcast_shapes(batch_shape, df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(n).any():
            text = "Low df values detected. Singular samples are highly likely to occur"
            warnings.warn(f"{text} for ndim - 1 < df < ndim.", stacklevel=2)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)
        self._set_chi2()

    def _set_chi2(self):
        """Set the distribution of the squares on the diagonal that sampling draws."""
        factor = self._unbroadcasted_scale_tril
        steps = rushlight.arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps.expand(self._batch_shape + (-1,)))

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def expand(self, batch_shape, _instance=None):
        batched = ("df", "covariance_matrix", "scale_tril", "precision_matrix")
        new = self._expanded(Wishart, batch_shape, _instance, batched)
        new.df = self.df.expand(new._batch_shape)
        new._unbroadcasted_scale_tril = new._broadcast(self._unbroadcasted_scale_tril)
        new._set_chi2()
        return new

    @property
    def _batch_dims(self):
        return [-(i + 1) for i in range(len(self._batch_shape))]

    def _broadcast(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._broadcast(factor @ factor.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self):
        factor = self._unbroadcasted_scale_tril
        identity = rushlight.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._broadcast(rushlight.cholesky_solve(identity, factor))

    def _of_matrices(self, numbers):
        return numbers.view(self._batch_shape + (1, 1))

    @property
    def mean(self):
        return self._of_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = rushlight.nan
        return self._of_matrices(factor) * self.covariance_matrix

    @property
    def variance(self):
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = rushlight.einsum("...i,...j->...ij", diagonal, diagonal)
        return self._of_matrices(self.df) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape=_SINGLE):
        """Draw by Bartlett's decomposition: chi2 on the diagonal, normal numbers below."""
        n = self._event_shape[-1]
        squares = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = squares.clamp(min=rushlight.finfo(squares.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        shape = rushlight.Size(sample_shape) + self._batch_shape + (n * (n - 1) // 2,)
        i, j = rushlight.tril_indices(n, n, offset=-1)
        noise[..., i, j] = rushlight.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _over_batch(self, flags):
        return flags.amax(self._batch_dims) if self._batch_shape else flags

    def rsample(self, sample_shape=_SINGLE, max_try_correction=None):
        """Draw matrices; those that rounding made singular are drawn again, at most 10 times or as said."""
        sample = self._bartlett_sampling(rushlight.Size(sample_shape))
        # PyTorch takes the regular ones for singular here: they are drawn twice, and it warns
        singular = self._over_batch(self.support.check(sample))
        if not singular.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            again = self._bartlett_sampling(singular[singular].shape)
            sample[singular] = again
            # a mask of its own each time: the gradient of the line above needs the last one as it was
            left = singular.clone()
            left[singular] = self._over_batch(~self.support.check(again))
            singular = left
            if not singular.any():
                break
        return sample

    def log_prob(self, value):
        n, factor = self._event_shape[-1], self._unbroadcasted_scale_tril
        traced = rushlight.cholesky_solve(self._checked(value), factor).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -self.df * (n * _log_2 / 2 + _log_det(factor))
            - rushlight.mvlgamma(self.df / 2, p=n)
            + (self.df - n - 1) / 2 * rushlight.linalg.slogdet(value).logabsdet
            - traced / 2
        )

    def entropy(self):
        n = self._event_shape[-1]
        return (
            (n + 1) * (n * _log_2 / 2 + _log_det(self._unbroadcasted_scale_tril))
            + rushlight.mvlgamma(self.df / 2, p=n)
            - (self.df - n - 1) / 2 * _mvdigamma(self.df / 2, p=n)
            + self.df * n / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (_log_2 * n - rushlight.linalg.slogdet(-2 * x).logabsdet) + rushlight.mvlgamma(
            half, p=n
        )
