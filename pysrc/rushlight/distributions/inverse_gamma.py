"""The inverse gamma distribution."""

import rushlight

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x, where x has a Gamma distribution.

    Args:
        concentration: the shape of x's, a number or a tensor.
        rate: the rate of x's.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        inversion = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inversion, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self):
        return self.base_dist.concentration

    @property
    def rate(self):
        return self.base_dist.rate

    @property
    def mean(self):
        mean = self.rate / (self.concentration - 1)
        return rushlight.where(self.concentration > 1, mean, rushlight.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return rushlight.where(a > 2, variance, rushlight.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
