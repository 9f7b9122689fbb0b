"""Fisher's and Snedecor's F-distribution."""

import rushlight

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import _SINGLE, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The distribution of a ratio of two Chi2, each divided by its degrees of freedom.

    Args:
        df1: the degrees of freedom above, a number or a tensor.
        df2: those below.
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("df1", "df2", "_gamma1", "_gamma2")
        return self._expanded(FisherSnedecor, batch_shape, _instance, batched)

    def _df2_above(self, bound):
        """df2 where it is above a bound, else NaN."""
        df2 = self.df2.clone(memory_format=rushlight.contiguous_format)
        df2[df2 <= bound] = rushlight.nan
        return df2

    @property
    def mean(self):
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = rushlight.nan
        return mode

    @property
    def variance(self):
        df2 = self._df2_above(4)
        below = self.df1 * (df2 - 2).pow(2) * (df2 - 4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / below

    def rsample(self, sample_shape=_SINGLE):
        above, below = (g.rsample(sample_shape) for g in (self._gamma1, self._gamma2))
        tiny = rushlight.finfo(below.dtype).tiny
        below.clamp_(min=tiny)
        return (above / below).clamp_(min=tiny)

    def log_prob(self, value):
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        both = half1 + half2
        constant = both.lgamma() - half1.lgamma() - half2.lgamma()
        rise = half1 * ratio.log() + (half1 - 1) * self._checked(value).log()
        return constant + rise - both * (ratio * value).log1p()
