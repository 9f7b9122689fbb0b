"""The relaxed Bernoulli distribution, on (0, 1) instead of 0 and 1."""

from . import constraints
from ._pairs import BinaryPair, RelaxedPair
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import _SINGLE, _uniform, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryPair, Distribution):
    """The log odds of a RelaxedBernoulli (https://arxiv.org/abs/1611.00712).

    Args:
        temperature: a positive tensor; near 0 the values are nearly those of a Bernoulli.
        probs: the probability of 1, a number or a tensor.
        logits: the log odds of 1; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._set_pair(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched, kept = ("probs", "logits", "_param"), ("temperature",)
        return self._expanded(LogitRelaxedBernoulli, batch_shape, _instance, batched, kept)

    def rsample(self, sample_shape=_SINGLE):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(_uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(RelaxedPair, TransformedDistribution):
    """Numbers of (0, 1) that come near 0 and 1 as the temperature falls; gradients flow through samples.

    Args:
        temperature: a positive tensor.
        probs: the probability of 1, a number or a tensor.
        logits: the log odds of 1; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))
