"""The Laplace distribution."""

from operator import attrgetter

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution: exponential on both sides of a peak.

    Args:
        loc: the mean, a number or a tensor.
        scale: the mean distance from it.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Laplace, batch_shape, _instance, ("loc", "scale"))

    mean = mode = property(attrgetter("loc"))

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return (2**0.5) * self.scale

    def rsample(self, sample_shape=_SINGLE):
        eps = rushlight.finfo(self.loc.dtype).eps
        # on (-1, 1): -1 itself would become -inf
        u = self.loc.new(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * rushlight.log1p(-u.abs())

    def log_prob(self, value):
        distance = rushlight.abs(self._checked(value) - self.loc)
        return -rushlight.log(2 * self.scale) - distance / self.scale

    def cdf(self, value):
        offset = self._checked(value) - self.loc
        return 0.5 - 0.5 * offset.sign() * rushlight.expm1(-offset.abs() / self.scale)

    def icdf(self, value):
        offset = value - 0.5
        return self.loc - self.scale * offset.sign() * rushlight.log1p(-2 * offset.abs())

    def entropy(self):
        return 1 + rushlight.log(2 * self.scale)
