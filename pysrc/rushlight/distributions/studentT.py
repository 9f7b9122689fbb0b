"""Student's t-distribution."""

import math

import rushlight

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _SINGLE, _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution.

    Args:
        df: the degrees of freedom, a number or a tensor.
        loc: the mean.
        scale: its scale.
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(StudentT, batch_shape, _instance, ("df", "loc", "scale", "_chi2"))

    @property
    def mean(self):
        mean = self.loc.clone(memory_format=rushlight.contiguous_format)
        mean[self.df <= 1] = rushlight.nan
        return mean

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self.df.clone(memory_format=rushlight.contiguous_format)
        finite = self.df > 2
        df = self.df[finite]
        variance[finite] = self.scale[finite].pow(2) * df / (df - 2)
        variance[(self.df <= 2) & (self.df > 1)] = rushlight.inf
        variance[self.df <= 1] = rushlight.nan
        return variance

    def rsample(self, sample_shape=_SINGLE):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * rushlight.rsqrt(squares / self.df))

    def log_prob(self, value):
        y = (self._checked(value) - self.loc) / self.scale
        constant = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + rushlight.lgamma(0.5 * self.df)
            - rushlight.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * rushlight.log1p(y**2.0 / self.df) - constant

    def entropy(self):
        half, half_more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - half_more.lgamma()
        peak = half_more * (half_more.digamma() - half.digamma())
        return self.scale.log() + peak + 0.5 * self.df.log() + log_beta
