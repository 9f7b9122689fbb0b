"""Divergences between normal distributions of vectors: 0.5 * (log dets + traces + distance - n)."""

import rushlight

from ..lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from ..multivariate_normal import MultivariateNormal, _batch_mahalanobis, _log_det
from . import register_kl


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
