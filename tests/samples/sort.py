"""Samples: sorting."""

import math

import numpy as np

from samples.sample import Placeholder, S, special, x


def _distinct(*shape):
    """Values that all differ, in every dtype but bool, out of order."""
    n = math.prod(shape)
    order = np.random.default_rng(n).permutation(n) + 1
    return Placeholder(shape, values=order.reshape(shape))


_SORTED = [  # short, since only a stable sort says where equal elements go
    S(x(2, 3, 4)),
    S(_distinct(2, 16), -1),
    S(x(9, 3), 0, True),
    S(special(15)),
    S(special(15), 0, True),
    S(x()),
    S(x(0, 3)),
]
_STABLE = [
    S(x(2, 70), stable=True),
    S(x(300), stable=True, descending=True),
    S(x(9, 3), stable=True, dim=0, descending=True),
    S(special(30), stable=True),
]
SAMPLES = {
    **{op: _SORTED for op in ("sort", "argsort")},
    **{op: _STABLE for op in ("sort_stable", "argsort_stable")},
    "topk": [
        S(_distinct(2, 9), 3).but("bool"),
        S(_distinct(9, 2), 4, 0).but("bool"),
        S(_distinct(3, 7), 7, -1, False).but("bool"),
        S(_distinct(5), 0).but("bool"),
        S(x(), 1).but("bool"),
    ],
}
