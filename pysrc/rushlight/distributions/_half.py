"""The positive half of a distribution that is symmetric around 0."""

import math

import rushlight

from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """The distribution of |x|: twice the density, on one side."""

    def __init__(self, base, validate_args):
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        return self.base_dist.scale

    def log_prob(self, value):
        return self._folded_log_prob(self._checked(value))

    def _folded_log_prob(self, value):
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return rushlight.where(value >= 0, log_prob, -rushlight.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
