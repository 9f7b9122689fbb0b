"""The uniform distribution."""

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, _uniform, broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers in [low, high), all equally likely.

    Args:
        low: the lower bound, a number or a tensor.
        high: the upper bound, which is greater.
    """

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Uniform, batch_shape, _instance, ("low", "high"))

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def _width(self):
        return self.high - self.low

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return rushlight.nan * self.high

    @property
    def stddev(self):
        return self._width / 12**0.5

    @property
    def variance(self):
        return self._width.pow(2) / 12

    def rsample(self, sample_shape=_SINGLE):
        return self.low + _uniform(self._extended_shape(sample_shape), self.low) * self._width

    def log_prob(self, value):
        above = self.low.le(self._checked(value)).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return above.mul(below).log() - self._width.log()

    def cdf(self, value):
        return ((self._checked(value) - self.low) / self._width).clamp(min=0, max=1)

    def icdf(self, value):
        return value * self._width + self.low

    def entropy(self):
        return self._width.log()
