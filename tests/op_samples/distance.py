"""Samples: distances and likeness of vectors."""

import math

import numpy as np

from op_samples.sample import WHOLE, S, pos, x

_ORDERS = (0.0, 0.5, 1.0, 2.0, 3.0, math.inf)


def _grown(*shape):
    """Rows that are nowhere equal, so that each distance has a derivative."""
    return x(*shape, low=-40, high=40)


def _pairs(*more):
    """Calls of every order, and batches that stretch."""
    return [
        *(S(_grown(5, 7), _grown(6, 7), p, *more) for p in _ORDERS),
        S(_grown(2, 1, 3, 4), _grown(3, 5, 4), 1.0, *more),
    ]


_EMPTY = (((0, 3), (4, 3)), ((2, 0), (3, 0)), ((2, 3), (0, 3)))


SAMPLES = {
    "dist": [s.but(*WHOLE) for s in (S(x(2, 3), x(2, 3)), S(x(2, 3), x(3), 1), S(x(5), x(5), math.inf))],
    "pairwise_distance": [
        S(x(4, 5), x(4, 5)).but("bool"),
        S(x(4, 5), x(5), 1.0).but("bool"),
        S(x(4, 5), x(4, 5), 2.0, 1e-3, True).but("bool"),
        S(x(5), x(5)).but("bool"),
    ],
    "cosine_similarity": [
        s.but(*WHOLE)
        for s in (S(x(4, 5), x(4, 5)), S(x(4, 5), x(5), -1), S(x(4, 5), x(4, 1), 0, 0.5), S(x(3), x(3), 0))
    ],
    "cdist": [
        *(s.but(*WHOLE, "float16", "bfloat16") for s in _pairs()),
        S(_grown(30, 3), _grown(4, 3)).but(*WHOLE),
        S(_grown(2, 30, 3), _grown(4, 3)).but(*WHOLE),
        S(_grown(5, 3), _grown(4, 3), 2.0, 1).but(*WHOLE),
    ],
    "_cdist_forward": [*_pairs(None), *(S(x(*a), x(*b), 2.0, None) for a, b in _EMPTY)],
    "_euclidean_dist": [S(_grown(5, 7), _grown(6, 7)), S(_grown(2, 3, 4), _grown(2, 5, 4))],
    "pdist": [s.but(*WHOLE, "float16", "bfloat16") for s in [S(_grown(5, 7), p) for p in _ORDERS]],
    "_pdist_forward": [*(S(_grown(5, 7), p) for p in _ORDERS), S(x(1, 3))],
}
BACKWARD = {
    "_cdist_backward": [S(x(5, 6), x(5, 7), x(6, 7), p, pos(5, 6)) for p in _ORDERS],
    "_pdist_backward": [S(x(10), x(5, 7), p, pos(10)) for p in _ORDERS],
}
PYTORCH = {
    "cdist": lambda torch: torch._VF.cdist,
    "_cdist_forward": lambda torch: torch.ops.aten._cdist_forward,
    "_euclidean_dist": lambda torch: torch._euclidean_dist,
    "_pdist_forward": lambda torch: lambda x, p=2.0: torch.ops.aten._pdist_forward(x.contiguous(), p),
    "_cdist_backward": lambda torch: torch.ops.aten._cdist_backward,
    "_pdist_backward": lambda torch: (
        lambda g, x, p, d: torch.ops.aten._pdist_backward(g.contiguous(), x.contiguous(), p, d.contiguous())
    ),
}


def _distances(gap, p):
    """The norms of order p over the last dimension."""
    gap = np.abs(gap)
    if p == 0:
        return (gap != 0).sum(-1)
    if p == math.inf:
        return gap.max(-1, initial=0)
    return (gap**p).sum(-1) ** (1 / p)


def _cdist(a, b, p=2.0, mode=None):
    return _distances(a[..., :, None, :] - b[..., None, :, :], p)


def _pdist(a, p=2.0):
    first, second = np.triu_indices(len(a), 1)
    return _distances(a[first] - a[second], p)


NUMPY = {
    "cdist": _cdist,
    "_cdist_forward": _cdist,
    "_euclidean_dist": _cdist,
    "pdist": _pdist,
    "_pdist_forward": _pdist,
}
