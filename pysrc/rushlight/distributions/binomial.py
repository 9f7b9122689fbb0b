"""The binomial distribution."""

import rushlight

from . import constraints
from ._pairs import BinaryPair
from .distribution import Distribution
from .utils import _SINGLE

__all__ = ["Binomial"]


def _clamp_by_zero(x):
    """Clamp at 0 from below, with gradient 1/2 there."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(BinaryPair, Distribution):
    """How many of some trials succeed.

    Args:
        total_count: how many trials, a number or a tensor.
        probs: the probability that one succeeds, a tensor.
        logits: its log odds; just one of the two is given.
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._set_counted_pair(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("total_count", "probs", "logits", "_param")
        return self._expanded(Binomial, batch_shape, _instance, batched)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=_SINGLE):
        shape = self._extended_shape(sample_shape)
        with rushlight.no_grad():
            return rushlight.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        n, k, logits = self.total_count, self._checked(value), self.logits
        # n * log(1 - p) from the log odds, whichever their sign is, without overflow
        misses = n * _clamp_by_zero(logits) + n * rushlight.log1p(rushlight.exp(-rushlight.abs(logits)))
        ways = misses - rushlight.lgamma(n + 1)
        return k * logits - rushlight.lgamma(k + 1) - rushlight.lgamma(n - k + 1) - ways

    def _one_count(self, what):
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

    def entropy(self):
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = self._one_count("enumerate_support")
        values = rushlight.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)
