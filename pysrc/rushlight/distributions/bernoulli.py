"""The Bernoulli distribution."""

import rushlight

from . import constraints
from ._pairs import BinaryPair
from .exp_family import ExponentialFamily
from .utils import _SINGLE, _negative_log_likelihood, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(BinaryPair, ExponentialFamily):
    """1 with a probability, else 0.

    Args:
        probs: the probability of 1, a number or a tensor.
        logits: the log odds of 1; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_pair(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Bernoulli, batch_shape, _instance, ("probs", "logits", "_param"))

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = rushlight.nan
        return mode

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            return rushlight.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        value = self._checked(value)  # its error shows what was given: no logits yet
        logits, value = broadcast_all(self.logits, value)
        return -_negative_log_likelihood(logits, value)

    def entropy(self):
        return _negative_log_likelihood(self.logits, self.probs)

    def enumerate_support(self, expand=True):
        values = rushlight.arange(2, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)

    @property
    def _natural_params(self):
        return (rushlight.logit(self.probs),)

    def _log_normalizer(self, x):
        return x.exp().log1p()
