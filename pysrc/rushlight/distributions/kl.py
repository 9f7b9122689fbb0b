"""Kullback-Leibler divergences: a formula for each pair of distributions that have one."""

import math
import warnings

import rushlight
from rushlight import _missing, inf
from rushlight.distributions.bernoulli import Bernoulli
from rushlight.distributions.beta import Beta
from rushlight.distributions.binomial import Binomial
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.cauchy import Cauchy
from rushlight.distributions.continuous_bernoulli import ContinuousBernoulli
from rushlight.distributions.dirichlet import Dirichlet
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.geometric import Geometric
from rushlight.distributions.gumbel import Gumbel
from rushlight.distributions.half_normal import HalfNormal
from rushlight.distributions.independent import Independent
from rushlight.distributions.laplace import Laplace
from rushlight.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from rushlight.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis, _log_det
from rushlight.distributions.normal import Normal
from rushlight.distributions.one_hot_categorical import OneHotCategorical
from rushlight.distributions.pareto import Pareto
from rushlight.distributions.poisson import Poisson
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.utils import _sum_rightmost, euler_constant
from rushlight.nn import functional as F

__all__ = ["register_kl", "kl_divergence"]


# ---- kullback-Leibler divergences: a formula for each pair of distributions that have one ----
_KL_REGISTRY = {}  # (type of p, type of q): formula
_KL_MEMOIZE = {}  # the same for pairs that were asked for, NotImplemented for those without a formula
__getattr__ = _missing.module_getattr(__name__)


def register_kl(type_p, type_q):
    """Decorate the formula of kl_divergence() for two types and their subclasses.

    The most specific pair of types wins; where two pairs are equally specific, a RuntimeWarning asks for a
    third that breaks the tie.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _is_as_specific(pair, other):
    """Is a pair of types as specific as another? The first type decides, unless both have the same."""
    for mine, others in zip(pair, other):
        if not issubclass(mine, others):
            return False
        if mine is not others:
            break
    return True


def _most_specific(pairs):
    best = pairs[0]
    for pair in pairs[1:]:
        if pair != best and _is_as_specific(pair, best):
            best = pair
    return best


def _dispatch_kl(type_p, type_q):
    """Find the formula of the most specific pair, or NotImplemented."""
    found = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not found:
        return NotImplemented
    by_p = _most_specific(found)
    by_q = _most_specific([(q, p) for p, q in found])[::-1]
    fun = _KL_REGISTRY[by_p]
    if fun is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return fun


def kl_divergence(p, q):
    """Return KL(p || q), the mean of log p(x) - log q(x) over p, of the batch shape.

    NotImplementedError is raised where no formula is registered, neither here nor by register_kl().
    """
    pair = type(p), type(q)
    fun = _KL_MEMOIZE.get(pair)
    if fun is None:
        fun = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if fun is NotImplemented:
        raise NotImplementedError(
            "No KL(p || q) is implemented for p type "
            f"{p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return fun(p, q)


# ---- divergences between distributions of one family ----
def _weighed(probs, logs, of_q):
    """Return probs * logs: 0 where p gives nothing, infinite where only q gives nothing."""
    terms = probs * logs
    terms[(of_q == 0).expand_as(terms)] = inf
    terms[(probs == 0).expand_as(terms)] = 0
    return terms


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    happens = _weighed(p.probs, F.softplus(-q.logits) - F.softplus(-p.logits), q.probs)
    misses = _weighed(1 - p.probs, F.softplus(q.logits) - F.softplus(p.logits), 1 - q.probs)
    return happens + misses


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    p_total, q_total = p1 + p0, q1 + q0
    of_q = q1.lgamma() + q0.lgamma() + p_total.lgamma()
    of_p = p1.lgamma() + p0.lgamma() + q_total.lgamma()
    means = (p1 - q1) * p1.digamma() + (p0 - q0) * p0.digamma()
    return of_q - of_p + means + (q_total - p_total) * p_total.digamma()


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    of_one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    result = p.total_count * of_one
    result[p.total_count > q.total_count] = inf
    return result


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    return _weighed(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    distance = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    of_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    of_q = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p - of_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    of_totals = p_total.lgamma() - q_total.lgamma()
    of_parts = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    means = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return of_totals - of_parts + ((p.concentration - q.concentration) * means).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "be computed using Bregman divergences"
        )
    of_p, normalizer, gradients = p._differentiated_normalizer()
    of_q = q._natural_params
    result = q._log_normalizer(*of_q) - normalizer
    for mine, others, gradient in zip(of_p, of_q, gradients):
        result -= _sum_rightmost((others - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    of_rates = q.concentration * (p.rate / q.rate).log()
    of_shapes = q.concentration.lgamma() - p.concentration.lgamma()
    means = (p.concentration - q.concentration) * p.concentration.digamma()
    return of_rates + of_shapes + means + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, q_loc, p_loc = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    tail = (q_loc + (1 + ratio).lgamma() - p_loc).exp()
    return -ratio.log() - q_loc + p_loc + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = inf
    return result


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = inf
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- divergences between distributions of two families ----
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


# ---- divergences between normal distributions of vectors: 0.5 * (log dets + traces + distance - n) ----
def _trace_of_square(matrix):
    """Return the trace of X @ X.T: the sum of all squares."""
    flat = matrix.reshape(-1, matrix.size(-2) * matrix.size(-1))
    return flat.pow(2).sum(-1).reshape(matrix.shape[:-2])


def _need_same_event(p, q, name):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {name}Multivariate Normals with different event shapes "
            "cannot be computed"
        )


def _solved(factor, matrix):
    """Return inv(factor) @ matrix, whose batch dims broadcast."""
    batch = rushlight.broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    factor, matrix = (each.expand(batch + each.shape[-2:]) for each in (factor, matrix))
    return rushlight.linalg.solve_triangular(factor, matrix, upper=False)


def _lowrank_log_det(d):
    return _batch_lowrank_logdet(*d._parts, d._capacitance_tril)


def _lowrank_distance(p, q):
    return _batch_lowrank_mahalanobis(*q._parts, q.loc - p.loc, q._capacitance_tril)


def _woodbury(d):
    """Return D and A: the inverse of the covariance is inv(D) - A.T @ A."""
    factor, diagonal = d._parts
    scaled = factor.mT / diagonal.unsqueeze(-2)
    return diagonal, rushlight.linalg.solve_triangular(d._capacitance_tril, scaled, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _need_same_event(p, q, "")
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _trace_of_square(_solved(q_tril, p_tril))
    distance = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return _log_det(q_tril) - _log_det(p_tril) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _need_same_event(p, q, "Low Rank ")
    factor, diagonal = p._parts
    q_diagonal, a = _woodbury(q)
    outer = (diagonal / q_diagonal).sum(-1) + _trace_of_square(factor * q_diagonal.rsqrt().unsqueeze(-1))
    inner = _trace_of_square(a * diagonal.sqrt().unsqueeze(-2)) + _trace_of_square(a @ factor)
    log_dets = _lowrank_log_det(q) - _lowrank_log_det(p)
    return 0.5 * (log_dets + outer - inner + _lowrank_distance(p, q) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _need_same_event(p, q, "(Low Rank) ")
    tril = p._unbroadcasted_scale_tril
    q_diagonal, a = _woodbury(q)
    trace = _trace_of_square(tril * q_diagonal.rsqrt().unsqueeze(-1)) - _trace_of_square(a @ tril)
    log_dets = _lowrank_log_det(q) - 2 * _log_det(tril)
    return 0.5 * (log_dets + trace + _lowrank_distance(p, q) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _need_same_event(p, q, "(Low Rank) ")
    tril = q._unbroadcasted_scale_tril
    factor, diagonal = p._parts
    traces = [_trace_of_square(_solved(tril, x)) for x in (factor, diagonal.sqrt().diag_embed())]
    distance = _batch_mahalanobis(tril, q.loc - p.loc)
    log_dets = 2 * _log_det(tril) - _lowrank_log_det(p)
    return 0.5 * (log_dets + sum(traces) + distance - p.event_shape[0])
