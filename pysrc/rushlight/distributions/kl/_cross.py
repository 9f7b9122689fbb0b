"""Divergences between distributions of two families."""

import math

import rushlight
from rushlight import inf

from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import euler_constant
from . import register_kl

# p gives something where q gives nothing, whatever the parameters are
_INFINITE = {
    Beta: ((Pareto,), "concentration1"),
    ContinuousBernoulli: ((Pareto,), "probs"),
    Exponential: ((Beta, ContinuousBernoulli, Pareto, Uniform), "rate"),
    Gamma: ((Beta, ContinuousBernoulli, Pareto, Uniform), "concentration"),
    Gumbel: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Laplace: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Normal: ((Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc"),
    Pareto: ((Beta, ContinuousBernoulli, Uniform), "scale"),
    Poisson: ((Bernoulli, Binomial), "rate"),
}


def _register_infinite(type_p, types_q, name):
    def infinite(p, q):
        return rushlight.full_like(getattr(p, name), inf)

    for type_q in types_q:
        register_kl(type_p, type_q)(infinite)


for _type_p, (_types_q, _name) in _INFINITE.items():
    _register_infinite(_type_p, _types_q, _name)


def _xlogx(x):
    return rushlight.xlogy(x, x)


def _gamma_log_norm(q):
    return q.concentration.lgamma() - q.concentration * q.rate.log()


def _continuous_bernoulli_mean_log(p, q):
    """Return -entropy(p) - E[log q] for a continuous Bernoulli q, but where q gives nothing."""
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return _continuous_bernoulli_mean_log(p, q)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    total = p.concentration1 + p.concentration0
    means = (q.concentration - 1) * (p.concentration1.digamma() - total.digamma())
    return -p.entropy() + _gamma_log_norm(q) - means + q.rate * p.concentration1 / total


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    mean, variance = p.mean, q.scale.pow(2)
    total = p.concentration1 + p.concentration0
    square = (mean * (1 - mean) / (total + 1) + mean.pow(2)) * 0.5
    distance = square - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + distance / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = inf
    return result


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    constant = 0.5 * (math.log(2.0 * math.pi) + (q.loc / q.scale).square()) + q.scale.log()
    moments = (p.variance + p.mean.square() - 2.0 * q.loc * p.mean) / (2.0 * q.scale.square())
    return -p.entropy() + constant + moments


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return rushlight.where(outside, rushlight.ones_like(result) * inf, result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    of_shape = q.concentration.lgamma() + q.concentration * euler_constant
    return -q.concentration * ratio.log() + ratio + of_shape - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, loc = p.rate * q.scale, q.loc / q.scale
    tail = loc.exp() * product / (product + 1)
    return product.log() - 1 - loc + tail + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    variance, rate = q.scale.pow(2), p.rate.pow(2)
    distance = rate.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * (rate * variance * 2 * math.pi).log() - 1 + distance / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    product, loc, shape = p.rate * q.scale, q.loc / q.scale, p.concentration
    of_shape = (shape - 1) * shape.digamma() - shape.lgamma() - shape
    tail = loc.exp() * (1 + product.reciprocal()).pow(-shape) - loc
    return of_shape + (product.log() + shape / product) + tail


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    variance, rate, shape = q.scale.pow(2), p.rate.pow(2), p.concentration
    constant = 0.5 * (rate * variance * 2 * math.pi).log() - shape - shape.lgamma()
    distance = 0.5 * (shape.pow(2) + shape) / rate - q.loc * shape / p.rate + 0.5 * q.loc.pow(2)
    return constant + (shape - 1) * shape.digamma() + distance / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    ratio = p.scale / q.scale
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    distance = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + spread + distance - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * (2 * ratio / math.pi).log() + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    mean, loc, ratio = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    tail = (-mean + 0.5 * ratio + loc).exp()
    return -ratio.log() * 0.5 + (mean - loc) + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    distance = p.loc - q.loc
    scaled = distance / p.scale
    spread = math.sqrt(2 / math.pi) * p.scale * (-0.5 * scaled.pow(2)).exp()
    mean = spread + distance * rushlight.erf(math.sqrt(0.5) * scaled)
    return -(p.scale / q.scale).log() + mean / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    result = (p.alpha / product).log() - p.alpha.reciprocal() + mean - 1
    result[p.alpha <= 1] = inf
    return result


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    mean_log = p.scale.log() + p.alpha.reciprocal()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    of_q = _gamma_log_norm(q) + (1 - q.concentration) * mean_log
    result = p.alpha.log() - mean_log + of_q + mean - 1
    result[p.alpha <= 1] = inf
    return result


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    step = p.scale / (p.alpha - 1)
    constant = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    distance = p.alpha * step.pow(2) / (p.alpha - 2) + (p.alpha * step - q.loc).pow(2)
    result = constant + distance / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = inf
    return result


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    a, b = q.concentration1, q.concentration0
    mean_log = (_xlogx(p.high) - _xlogx(p.low) - width) / width
    mean_log_rest = (_xlogx(1 - p.high) - _xlogx(1 - p.low) + width) / width
    log_norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result = (b - 1) * mean_log_rest + log_norm - width.log() - (a - 1) * mean_log
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    result = _continuous_bernoulli_mean_log(p, q)
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return rushlight.where(outside, rushlight.ones_like(result) * inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = inf
    return result


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    width = p.high - p.low
    mean_log = (_xlogx(p.high) - _xlogx(p.low) - width) / width
    of_q = _gamma_log_norm(q) + (1 - q.concentration) * mean_log
    result = of_q - width.log() + q.rate * (p.high + p.low) / 2
    result[p.low < q.support.lower_bound] = inf
    return result


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    constant = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return constant + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    width = p.high - p.low
    mean_log = (_xlogx(p.high) - _xlogx(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    result[p.low < q.support.lower_bound] = inf
    return result
