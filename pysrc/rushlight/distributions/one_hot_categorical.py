"""Categorical distributions whose values are one-hot vectors."""

import rushlight
from rushlight.nn import functional as F

from . import constraints
from ._pairs import CategoricalPair
from .categorical import Categorical
from .distribution import Distribution
from .utils import _SINGLE

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(CategoricalPair, Distribution):
    """Vectors of K elements, one of which is 1.

    Args:
        probs: the weights of the K places, in the last dim, as in Categorical.
        logits: their logs; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(OneHotCategorical, batch_shape, _instance, ("_categorical",))

    @property
    def _param(self):
        return self._categorical._param

    def _one_hot(self, index):
        return F.one_hot(index, self._categorical._num_events).to(self.probs)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self.probs.argmax(dim=-1))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=_SINGLE):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = rushlight.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose samples pass gradients to the probabilities as if they were those."""

    has_rsample = True

    def rsample(self, sample_shape=_SINGLE):
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())
