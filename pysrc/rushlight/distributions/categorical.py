"""The categorical distribution."""

import rushlight

from . import constraints
from ._pairs import Pair, need_one
from .distribution import Distribution
from .utils import _SINGLE, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Pair, Distribution):
    """Integers from 0 to K - 1, K being the size of the last dim of the parameter.

    Args:
        probs: their weights, not negative and not all 0; ``.probs`` are normalised to sum 1.
        logits: log weights; ``.logits`` are normalised too. Just one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        need_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self._param = self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self._param = self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched = ("probs", "logits", "_param")
        return self._expanded(Categorical, batch_shape, _instance, batched, ("_num_events",))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits)

    @property
    def mean(self):
        return self._full(rushlight.nan, self.probs)

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        return self._full(rushlight.nan, self.probs)

    def sample(self, sample_shape=_SINGLE):
        sample_shape = rushlight.Size(sample_shape)
        weights = self.probs.reshape(-1, self._num_events)
        drawn = rushlight.multinomial(weights, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        index = self._checked(value).long().unsqueeze(-1)
        index, log_probs = rushlight.broadcast_tensors(index, self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self):
        # a category of probability 0 adds 0, not 0 * inf
        finite = self.logits.clamp(min=rushlight.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = rushlight.arange(self._num_events, dtype=rushlight.long, device=self._param.device)
        return self._enumerated(values, expand)
