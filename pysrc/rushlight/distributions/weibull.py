"""The Weibull distribution."""

import rushlight

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution, that of a power of exponential numbers.

    Args:
        scale: its scale (lambda), a number or a tensor.
        concentration: its shape (k).
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self._set_parameters(*broadcast_all(scale, concentration))
        base = Exponential(rushlight.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _set_parameters(self, scale, concentration):
        self.scale, self.concentration = scale, concentration
        self.concentration_reciprocal = concentration.reciprocal()

    def _steps(self):
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        new._set_parameters(self.scale.expand(batch_shape), self.concentration.expand(batch_shape))
        base = self.base_dist.expand(batch_shape)
        super(Weibull, new).__init__(base, new._steps(), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self):
        return self.scale * rushlight.exp(rushlight.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self):
        second = rushlight.exp(rushlight.lgamma(1 + 2 * self.concentration_reciprocal))
        first = rushlight.exp(2 * rushlight.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (second - first)

    def entropy(self):
        log_scale = rushlight.log(self.scale * self.concentration_reciprocal)
        return euler_constant * (1 - self.concentration_reciprocal) + log_scale + 1
