"""The generalised Pareto distribution."""

import math

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, _uniform, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What lies above a high threshold.

    Args:
        loc: the lower bound, a number or a tensor.
        scale: its scale.
        concentration: its shape; 0 is exponential, below it there is an upper bound.
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("loc", "scale", "concentration")
        return self._expanded(GeneralizedPareto, batch_shape, _instance, batched)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        bound = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, rushlight.where(self.concentration < 0, bound, rushlight.inf))

    def _shape(self):
        """Tell where concentration is 0, and what to divide by."""
        flat = rushlight.isclose(self.concentration, rushlight.zeros_like(self.concentration))
        return flat, rushlight.where(flat, rushlight.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=_SINGLE):
        return self.icdf(_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        z = self._z(self._checked(value))
        flat, shape = self._shape()
        power = 1 / shape + rushlight.ones_like(z)
        curved = rushlight.where(power == 0, power, power * (shape * z).log1p())
        log_scale = math.log(self.scale) if isinstance(self.scale, (int, float)) else self.scale.log()
        return -log_scale - rushlight.where(flat, z, curved)

    def log_survival_function(self, value):
        """The log of the probability of everything above values."""
        z = self._z(self._checked(value))
        flat, shape = self._shape()
        return rushlight.where(flat, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value):
        """The log of cdf()."""
        return rushlight.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        return self.log_cdf(value).exp()

    def icdf(self, value):
        flat, shape = self._shape()
        log_rest = rushlight.log1p(-value)
        curved = self.loc + self.scale / shape * rushlight.expm1(-shape * log_rest)
        return rushlight.where(flat, self.loc - self.scale * log_rest, curved)

    def _where_below(self, bound, moment):
        """Return a moment of the concentration where that is below a bound, else NaN."""
        finite = self.concentration < bound
        return rushlight.where(
            finite, moment(rushlight.where(finite, self.concentration, bound / 2)), rushlight.nan
        )

    @property
    def mean(self):
        return self._where_below(1, lambda c: self.loc + self.scale / (1 - c))

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._where_below(0.5, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    def entropy(self):
        return rushlight.broadcast_to(self.scale.log() + self.concentration + 1, self._batch_shape)
