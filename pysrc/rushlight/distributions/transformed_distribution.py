"""A distribution seen through transforms."""

import rushlight

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _SINGLE, _sum_rightmost

__all__ = ["TransformedDistribution"]


def _listed(transforms):
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


class TransformedDistribution(Distribution):
    """The distribution of y = t(x), where x has a base distribution.

    log_prob() takes y back to x and adds how t stretches there.

    Args:
        base_distribution: the distribution of x; expanded, and its batch dims made event dims, as t needs.
        transforms: a transform or a list of them, the first is applied first.
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = _listed(transforms)
        transform = ComposeTransform(self.transforms)
        before, after = transform.domain.event_dim, transform.codomain.event_dim
        base_event_dim = len(base_distribution.event_shape)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < before:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {before}, but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        needed = transform.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_event_dim])
        if before > base_event_dim:
            base_distribution = Independent(base_distribution, before - base_event_dim)
        self.base_dist = base_distribution
        # events are as large as the transforms couple elements, or the base distribution does
        event_dim = max(after, base_event_dim + after - before)
        if len(shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(shape)} must be >= event_dim {event_dim}")
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(TransformedDistribution, batch_shape, _instance, (), ("transforms",))
        shape = new._batch_shape + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _forward(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=_SINGLE):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        y = self._checked(value)
        event_dim = len(self.event_shape)
        log_prob = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(stretch, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """Turn probabilities round if the transforms fall."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
