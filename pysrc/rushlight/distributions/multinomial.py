"""The multinomial distribution."""

import rushlight

from . import constraints
from ._pairs import CategoricalPair
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import _SINGLE, broadcast_all

__all__ = ["Multinomial"]


class Multinomial(CategoricalPair, Distribution):
    """How often each of K categories comes up in some trials.

    Args:
        total_count: how many trials, one number (NotImplementedError).
        probs: the weights of the categories, in the last dim, as in Categorical.
        logits: their logs; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        kept = ("total_count", "_binomial")
        return self._expanded(Multinomial, batch_shape, _instance, ("_categorical",), kept)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=_SINGLE):
        sample_shape = rushlight.Size(sample_shape)
        drawn = self._categorical.sample((self.total_count,) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, rushlight.ones_like(drawn)).type_as(self.probs)

    def entropy(self):
        n = rushlight.tensor(self.total_count)
        of_trials = n * self._categorical.entropy() - rushlight.lgamma(n + 1)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(counts).exp() * rushlight.lgamma(counts + 1)
        return of_trials + weights.sum([0, -1])

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.clone(memory_format=rushlight.contiguous_format)
        ways = rushlight.lgamma(value.sum(-1) + 1) - rushlight.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -rushlight.inf)] = 0  # what cannot happen did not
        return ways + (logits * value).sum(-1)
