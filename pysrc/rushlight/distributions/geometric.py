"""The geometric distribution."""

import rushlight

from . import constraints
from ._pairs import BinaryPair
from .distribution import Distribution
from .utils import _SINGLE, _negative_log_likelihood, broadcast_all

__all__ = ["Geometric"]


class Geometric(BinaryPair, Distribution):
    """How many trials fail before the first that succeeds.

    Args:
        probs: the probability that one succeeds, in (0, 1], a number or a tensor.
        logits: its log odds; just one of the two is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set_pair(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._need_positive(self.probs)

    def _need_positive(self, probs):
        positive = probs > 0
        if not positive.all():
            raise ValueError(
                f"Expected parameter probs ({type(probs).__name__} of shape {tuple(probs.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n{probs.data[~positive]}"
            )

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Geometric, batch_shape, _instance, ("probs", "logits", "_param"))

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return rushlight.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            tiny = rushlight.finfo(self.probs.dtype).tiny
            u = self.probs.new(self._extended_shape(sample_shape)).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        value, probs = broadcast_all(self._checked(value), self.probs)
        probs = probs.clone(memory_format=rushlight.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0  # 0 * log(0) is 0 here
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return _negative_log_likelihood(self.logits, self.probs) / self.probs
