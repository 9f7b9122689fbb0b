"""The half-Cauchy distribution."""

import rushlight

from . import constraints
from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The distribution of |x|, where x has a Cauchy distribution around 0.

    Args:
        scale: the scale of x, a number or a tensor.
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self):
        return self._full(rushlight.inf, self.scale)

    @property
    def mode(self):
        return rushlight.zeros_like(self.scale)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        value = rushlight.as_tensor(self._checked(value), dtype=self.scale.dtype, device=self.scale.device)
        return self._folded_log_prob(value)
