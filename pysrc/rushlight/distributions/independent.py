"""Batch dims of a distribution as dims of its events."""

from types import GenericAlias

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dims are dims of one event: log_prob() sums over them.

    Args:
        base_distribution: a distribution.
        reinterpreted_batch_ndims: how many of its batch dims.
    """

    arg_constraints = {}
    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch_shape = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch_shape)}"
            )
        cut = len(batch_shape) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event_shape = batch_shape[cut:] + base_distribution.event_shape
        super().__init__(batch_shape[:cut], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        kept = ("reinterpreted_batch_ndims",)
        return self._expanded(Independent, batch_shape, _instance, ("base_dist",), kept)

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        support = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return constraints.independent(support, n) if n else support

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=_SINGLE):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=_SINGLE):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
