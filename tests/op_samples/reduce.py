"""Samples and NumPy's answers: reductions and running totals."""

import numpy as np

from op_samples.sample import BOOL, WHOLE, S, but, fixed, index, nz, special, unit, x


def _reduce_dims():
    return [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), 1),
        S(x(2, 3, 4), (0, 2)),
        S(x(2, 3, 4), (-1,), True),
        S(x(70, 65), 0),
        S(x(70, 65), 1),
        S(x()),
    ]


def _total(*empty):
    return [*_reduce_dims(), *[S(x(0, 3), *args) for args in empty]]


def _variances():
    return [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), 1),
        S(x(2, 3, 4), (0, 2)),
        S(x(70, 65), 0),
        S(x(70, 65), 1),
        S(x(2, 3, 4), 1, correction=0),
        S(x(2, 3), (0,), correction=1, keepdim=True),
    ]


_UNBIASED = [S(x(2, 3, 4), 1, False), S(x(2, 3, 4), (0, -1), True, True), S(x(2, 3), None, False)]
_SCANS = [S(unit(2, 3, 4), 1), S(unit(5), 0), S(unit(2, 3, 4), -1), S(x(0, 3), 0), S(x(), 0)]
SAMPLES = {
    "sum": _total((), (0,), (1,)),
    "prod": [S(unit(2, 3, 4)), S(unit(2, 3, 4), 1), S(unit(2, 3, 4), -1, True), S(x(0, 3)), S(x())],
    "mean": _total((1,)),
    "var": but(WHOLE, _variances()),
    "var_unbiased": but(WHOLE, [S(x(2, 3), True), S(x(2, 3), False)]),
    "std": but(WHOLE, _variances()),
    "std_unbiased": but(WHOLE, [S(x(2, 3), True), S(x(2, 3), False)]),
    "amax": _total((1,))[:-1] + [S(x(0, 3), 1)],
    "amin": _total((1,))[:-1] + [S(x(0, 3), 1)],
    "max": [S(x(2, 3, 4)), S(special(30)), S(x())],
    "max_dim": [S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5), 0), S(x(0, 3), 1)],
    "argmax": but(BOOL, [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5))]),
    "min": [S(x(2, 3, 4)), S(special(30)), S(x())],
    "min_dim": [S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5), 0), S(x(0, 3), 1)],
    "argmin": but(BOOL, [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5))]),
    "any": _total((), (0,)),
    "all": _total((), (0,)),
    "nansum": [*_total((), (0,), (1,)), S(special(30)), S(special(3, 4, 2), (0, 2))],
    "nanmean": but(WHOLE, [*_total((1,)), S(x(2, 3), 1, True)]),
    "count_nonzero": [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), 1),
        S(x(70, 65), (0,)),
        S(special(30)),
        S(x(0, 3), 0),
        S(x()),
    ],
    "logsumexp": [
        *(S(x(*shape), dim) for shape, dim in (((2, 3, 4), 1), ((70, 65), 0), ((70, 65), 1), ((), 0))),
        S(x(2, 3, 4), (0, -1), True),
        S(x(0, 3), 0),
        S(x(3, 0), 0),
    ],
    **{
        name + overload: but(WHOLE, calls)
        for name in ("var_mean", "std_mean")
        for overload, calls in (
            ("", _variances()),
            ("_unbiased", [S(x(2, 3), True), S(x(2, 3), False)]),
            ("_unbiased_dim", _UNBIASED),
        )
    },
    "var_unbiased_dim": but(WHOLE, _UNBIASED),
    "std_unbiased_dim": but(WHOLE, _UNBIASED),
    "aminmax": [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), dim=1),
        S(x(70, 65), dim=0),
        S(special(30)),
        S(x()),
        S(x(0, 3), dim=1),
    ],
    "logcumsumexp": [*_SCANS, S(x(3, 70), 1), S(x(70, 3), 0)],
    "cummax": [*_SCANS, S(x(2, 40), 1), S(special(30), 0)],
    "cummin": [*_SCANS, S(x(40, 2), 0), S(special(30), 0)],
    "cumsum": [S(x(2, 3, 4), 1), *_SCANS],
    "cumprod": _SCANS,
    "diff": [
        S(x(5)),
        S(x(2, 5), 2),
        S(x(4, 2), 1, 0),
        S(x(2, 3), 1, -1, x(2, 1), x(2, 2)),
        S(x(3), 9),
        S(x(3), 0),
    ],
    **{
        name: but(BOOL, [S(unit(5), unit(5)), S(unit(2, 4), unit(4)), S(unit(3, 2), unit(3), dim=0)])
        for name in ("trapezoid", "trapz", "cumulative_trapezoid")
    },
    **{
        name + "_even": but(BOOL, [S(unit(5)), S(unit(2, 4), dx=2), S(unit(3, 2), dx=0.5, dim=0)])
        for name in ("trapezoid", "trapz", "cumulative_trapezoid")
    },
    "cov": but(
        BOOL, [S(unit(3, 4)), S(unit(5)), S(unit(2, 3), correction=0), S(unit(2, 3), fweights=index(1, 2, 3))]
    ),
    "corrcoef": but(BOOL, [S(x(3, 6))]),
    "frobenius_norm": but(WHOLE, [S(x(2, 3, 4), 1), S(x(2, 3, 4), (0, 2), True), S(x(2, 3), [])]),
    "norm_except_dim": but(WHOLE, [S(x(2, 3, 4), 2, dim) for dim in (0, 1, 2, -1)]),
    "segment_reduce": [
        S(x(6), "sum", lengths=index(2, 0, 4)),
        S(nz(5, 2), "mean", lengths=index(2, 3)),
        S(nz(6, 2), "prod", offsets=index(0, 2, 6), initial=2),
        S(x(6), "max", lengths=index(1, 5)),
        S(x(2, 3, 2), "min", lengths=fixed([[1, 2], [3, 0]]), axis=1, initial=9),
        S(x(6), "sum", lengths=index(2, 3), unsafe=True),
    ],
    "renorm": but(WHOLE, [S(x(2, 3), 2, 0, 1.5), S(x(2, 3, 4), 1, 1, 4), S(x(2, 3), 2, -1, 0)]),
}
BACKWARD = {
    "segment_reduce_backward": [
        S(x(3), x(3), x(6), "sum", index(2, 0, 4)),
        S(x(2, 2), nz(2, 2), nz(5, 2), "prod", None, index(0, 2, 5), 0, 2),
        S(x(1), nz(1), x(4), "max", index(4)),
    ],
}


# ---- NumPy's side ----
def _sum_like(reduce):
    def run(a, dim=None, keepdim=False, dtype=None):
        return reduce(a, axis=dim if dim != () else None, keepdims=keepdim)

    return run


def _variance(a, dim=None, correction=1, keepdim=False):
    return np.var(a, axis=dim, ddof=correction, keepdims=keepdim)


def _with_indices(value, where):
    def run(a, dim, keepdim=False):
        return value(a, axis=dim, keepdims=keepdim), where(a, axis=dim, keepdims=keepdim)

    return run


def _logsumexp(a, dim, keepdim=False):
    axis = tuple(dim) or None if isinstance(dim, list) else dim if a.ndim else None
    most = np.max(a, axis=axis, keepdims=True, initial=-1e9)
    return np.squeeze(
        np.log(np.sum(np.exp(a - most), axis=axis, keepdims=True)) + most,
        () if keepdim else axis if axis is not None else tuple(range(a.ndim)),
    )


def _aminmax(a, dim=None, keepdim=False):
    return np.min(a, axis=dim, keepdims=keepdim), np.max(a, axis=dim, keepdims=keepdim)


def _with_mean(spread):
    def run(a, dim=None, correction=1, keepdim=False):
        return spread(np.var(a, axis=dim, ddof=correction, keepdims=keepdim)), np.mean(
            a, axis=dim, keepdims=keepdim
        )

    return run


NUMPY = {
    "nanmean": _sum_like(np.nanmean),
    "cumsum": lambda a, dim: np.cumsum(np.atleast_1d(a), dim).reshape(a.shape),
    "cumprod": lambda a, dim: np.cumprod(np.atleast_1d(a), dim).reshape(a.shape),
    "frobenius_norm": lambda a, dim=(), keepdim=False: np.sqrt(
        np.sum(a * a, tuple(np.atleast_1d(dim)) or None, keepdims=keepdim)
    ),
    "nansum": _sum_like(np.nansum),
    "count_nonzero": lambda a, dim=None: np.count_nonzero(a, axis=dim),
    "logsumexp": _logsumexp,
    "var_mean": _with_mean(np.asarray),
    "std_mean": _with_mean(np.sqrt),
    "aminmax": _aminmax,
    "logcumsumexp": lambda a, dim: np.logaddexp.accumulate(np.atleast_1d(a), axis=dim).reshape(a.shape),
    "sum": _sum_like(np.sum),
    "prod": _sum_like(np.prod),
    "mean": _sum_like(np.mean),
    "var": _variance,
    "std": lambda *args, **kwargs: np.sqrt(_variance(*args, **kwargs)),
    "amax": _sum_like(np.max),
    "amin": _sum_like(np.min),
    "max": np.max,
    "max_dim": _with_indices(np.max, np.argmax),
    "argmax": _sum_like(np.argmax),
    "min": np.min,
    "min_dim": _with_indices(np.min, np.argmin),
    "argmin": _sum_like(np.argmin),
    "any": _sum_like(np.any),
    "all": _sum_like(np.all),
}


def _segments_back(torch):
    """By its definition: PyTorch's own kernel writes outside of its result for some of these calls."""

    def run(grad, output, data, reduce, lengths=None, offsets=None, axis=0, initial=None):
        edges = [0, *lengths.cumsum(0).tolist()] if offsets is None else offsets.tolist()
        parts = []
        for g, out, start, end in zip(grad, output, edges, edges[1:]):
            part = data[start:end]
            same = (part == out).to(part.dtype)
            each = {"sum": torch.ones_like(part), "prod": out / part, "max": same / same.sum(0).clamp(min=1)}
            parts.append(g * each[reduce])
        return torch.cat(parts)

    return run


PYTORCH = {
    "segment_reduce_backward": _segments_back,
}
