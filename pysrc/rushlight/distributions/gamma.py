"""The gamma distribution."""

import rushlight

from . import constraints
from .exp_family import ExponentialFamily
from .utils import _SINGLE, broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: its shape (alpha), a number or a tensor.
        rate: one over its scale (beta).
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Gamma, batch_shape, _instance, ("concentration", "rate"))

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=_SINGLE):
        shape = self._extended_shape(sample_shape)
        value = rushlight._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=rushlight.finfo(value.dtype).tiny)  # a gradient shall not see this
        return value

    def log_prob(self, value):
        value = self._checked(rushlight.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        return (
            rushlight.xlogy(self.concentration, self.rate)
            + rushlight.xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value):
        return rushlight.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self):
        return (
            self.concentration
            - self.rate.log()
            + self.concentration.lgamma()
            + (1.0 - self.concentration) * self.concentration.digamma()
        )

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return rushlight.lgamma(x + 1) + (x + 1) * rushlight.log(-y.reciprocal())
