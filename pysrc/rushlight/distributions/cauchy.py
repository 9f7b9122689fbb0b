"""The Cauchy distribution."""

import math

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy (Lorentz) distribution, which has no mean.

    Args:
        loc: the median, a number or a tensor.
        scale: half of its width at half of its height.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Cauchy, batch_shape, _instance, ("loc", "scale"))

    @property
    def mean(self):
        return self._full(rushlight.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._full(rushlight.inf, self.loc)

    def rsample(self, sample_shape=_SINGLE):
        return self.loc + self.loc.new(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value):
        squared = ((self._checked(value) - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - squared.log1p()

    def cdf(self, value):
        return rushlight.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return rushlight.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
