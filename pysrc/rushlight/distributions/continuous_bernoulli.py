"""The continuous Bernoulli distribution."""

import math

import rushlight

from . import constraints
from ._pairs import BinaryPair
from .exp_family import ExponentialFamily
from .utils import (
    _SINGLE,
    _negative_log_likelihood,
    _uniform,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryPair, ExponentialFamily):
    """Numbers of [0, 1] with density p ** x * (1 - p) ** (1 - x), normalised (arXiv:1907.06845).

    Args:
        probs: p, in (0, 1), a number or a tensor.
        logits: its log odds; just one of the two is given.
        lims: between these p is too near 1/2 for the formulas; Taylor series take their place.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._set_pair(probs, logits)
        if probs is not None:
            # after the clamp nothing would be wrong any more
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batched, kept = ("probs", "logits", "_param"), ("_lims",)
        return self._expanded(ContinuousBernoulli, batch_shape, _instance, batched, kept)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self):
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _cut_probs(self):
        """probs, with a limit in the place of those between the limits."""
        limit = self._lims[0] * rushlight.ones_like(self.probs)
        return rushlight.where(self._outside_unstable_region(), self.probs, limit)

    def _stable(self, formula, taylor):
        return rushlight.where(self._outside_unstable_region(), formula, taylor)

    def _cont_bern_log_norm(self):
        """The log of what normalises the density."""
        p = self._cut_probs()
        # of each branch only the half that it is for: the other one's gradient would be NaN
        below = rushlight.where(p <= 0.5, p, rushlight.zeros_like(p))
        above = rushlight.where(p >= 0.5, p, rushlight.ones_like(p))
        width = rushlight.where(p <= 0.5, rushlight.log1p(-2.0 * below), rushlight.log(2.0 * above - 1.0))
        log_norm = (rushlight.log1p(-p) - p.log()).abs().log() - width
        x = (self.probs - 0.5).pow(2)
        return self._stable(log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p = self._cut_probs()
        mean = p / (2.0 * p - 1.0) + 1.0 / (rushlight.log1p(-p) - p.log())
        x = self.probs - 0.5
        return self._stable(mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self):
        return self.variance.sqrt()

    @property
    def variance(self):
        p = self._cut_probs()
        spread = 1.0 / (rushlight.log1p(-p) - p.log()).pow(2)
        variance = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + spread
        x = (self.probs - 0.5).pow(2)
        return self._stable(variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=_SINGLE):
        return self.icdf(_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value):
        value = self._checked(value)  # its error shows what was given: no logits yet
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - _negative_log_likelihood(logits, value)

    def cdf(self, value):
        p = self._cut_probs()
        risen = p.pow(self._checked(value)) * (1.0 - p).pow(1.0 - value)
        inside = self._stable((risen + p - 1.0) / (2.0 * p - 1.0), value)
        capped = rushlight.where(value >= 1.0, rushlight.ones_like(value), inside)
        return rushlight.where(value <= 0.0, rushlight.zeros_like(value), capped)

    def icdf(self, value):
        p = self._cut_probs()
        log_rest = rushlight.log1p(-p)
        risen = rushlight.log1p(-p + value * (2.0 * p - 1.0)) - log_rest
        return self._stable(risen / (p.log() - log_rest), value)

    def entropy(self):
        log_rest, log_probs = rushlight.log1p(-self.probs), self.probs.log()
        return self.mean * (log_rest - log_probs) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        cut = rushlight.where(outside, x, low * rushlight.ones_like(x))
        log_norm = cut.expm1().abs().log() - cut.abs().log()
        return rushlight.where(outside, log_norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
