"""The relaxed one-hot categorical distribution (Gumbel-softmax)."""

import rushlight

from . import constraints
from ._pairs import CategoricalPair, RelaxedPair
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import _SINGLE, _uniform, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(CategoricalPair, Distribution):
    """The logs of a RelaxedOneHotCategorical (https://arxiv.org/abs/1611.00712).

    Args:
        temperature: a positive tensor; near 0 the values are nearly those of a OneHotCategorical.
        probs: the weights of the K places, in the last dim.
        logits: their logs; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # all of it lies in a part of that
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched, kept = ("_categorical",), ("temperature",)
        return self._expanded(ExpRelaxedCategorical, batch_shape, _instance, batched, kept)

    def rsample(self, sample_shape=_SINGLE):
        u = clamp_probs(_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        scale = rushlight.full_like(self.temperature, float(n)).lgamma() + self.temperature.log() * (n - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(RelaxedPair, TransformedDistribution):
    """Vectors of probabilities that come near one-hot ones as the temperature falls.

    Args:
        temperature: a positive tensor.
        probs: the weights of the K places, in the last dim.
        logits: their logs; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, new)
