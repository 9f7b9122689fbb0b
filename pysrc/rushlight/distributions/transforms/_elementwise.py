"""Transforms of each element by itself."""

import math

import rushlight
from rushlight.nn import functional as F

from .. import constraints
from ..utils import broadcast_all, lazy_property
from ._base import Plain, Transform


class ExpTransform(Plain):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


def _clipped_sigmoid(x):
    """sigmoid() that is neither 0 nor 1."""
    finfo = rushlight.finfo(x.dtype)
    return rushlight.sigmoid(x).clamp(min=finfo.tiny, max=1.0 - finfo.eps)


class SigmoidTransform(Plain):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        finfo = rushlight.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(Plain):
    """y = log(1 + exp(x)), which is x above 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return F.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x)


class TanhTransform(Plain):
    """y = tanh(x). Use cache_size=1 where y may round to -1 or 1, which have no inverse."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)^2) without the difference, which would cancel
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Plain):
    """y = |x|; the inverse gives the positive x."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class _Broadcast(Transform):
    """A transform whose arguments broadcast with what it transforms."""

    def _argument_shapes(self):
        raise NotImplementedError

    def forward_shape(self, shape):
        return rushlight.broadcast_shapes(shape, *self._argument_shapes())

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


class PowerTransform(_Broadcast):
    """y = x ** exponent, of positive numbers.

    Args:
        exponent: a number or a tensor.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, PowerTransform, self.exponent)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def _argument_shapes(self):
        return (self.exponent.shape,)


def _is_number(value):
    return isinstance(value, (int, float))


def _equal(a, b):
    """Are two numbers or tensors equal?"""
    return a == b if _is_number(a) and _is_number(b) else (a == b).all().item()


class AffineTransform(_Broadcast):
    """y = loc + scale * x.

    Args:
        loc: a number or a tensor.
        scale: a number or a tensor.
        event_dim: how many last dims are one event.
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        n = self.event_dim
        return constraints.independent(constraints.real, n) if n else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self.domain

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, AffineTransform, self.loc, self.scale, self.event_dim)

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self):
        if _is_number(self.scale):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape = x.shape
        if _is_number(self.scale):
            result = rushlight.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        if self.event_dim:
            result = result.view(result.size()[: -self.event_dim] + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def _argument_shapes(self):
        return [getattr(each, "shape", ()) for each in (self.loc, self.scale)]


class CumulativeDistributionTransform(Transform):
    """y = the probability of everything up to x.

    Args:
        distribution: the distribution whose cdf() and icdf() it uses.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, CumulativeDistributionTransform, self.distribution)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
