"""The negative binomial distribution."""

import rushlight
from rushlight.nn import functional as F

from . import constraints
from ._pairs import BinaryPair
from .distribution import Distribution
from .gamma import Gamma
from .utils import _SINGLE, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryPair, Distribution):
    """How many trials succeed before some have failed.

    Args:
        total_count: how many failures, a number or a tensor; it need not be whole.
        probs: the probability that one succeeds, in [0, 1), a tensor.
        logits: its log odds; just one of the two is given.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._set_counted_pair(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("total_count", "probs", "logits", "_param")
        return self._expanded(NegativeBinomial, batch_shape, _instance, batched)

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / rushlight.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        # total_count may be 0 here
        rate = rushlight.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            return rushlight.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        total = self.total_count + self._checked(value)
        log_prob = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = -total.lgamma() + rushlight.lgamma(1.0 + value) + self.total_count.lgamma()
        # 0 of 0 is sure, though lgamma(0) is infinite
        return log_prob - ways.masked_fill(total == 0.0, 0.0)
