"""Samples: sorting."""

import math

import numpy as np

from op_samples.sample import FLOATS, WHOLE, Placeholder, S, but, fixed, index, special, unit, x


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
_CHOSEN = [  # (input, dim, keepdim)
    S(_distinct(2, 9), 1),
    S(_distinct(9, 2), 0, True),
    S(_distinct(3, 5, 4), 1),
    S(_distinct(100), -1),
    S(_distinct(2, 60), -1, keepdim=True),
    S(x(0, 3), 1),
    S(x(), 0),
]
_EVERY = [S(_distinct(9)), S(_distinct(4, 3)), S(_distinct(2, 50)), S(special(7)), S(x())]
_LINE = [S(_distinct(20), 0), S(_distinct(2, 3, 4), 1)]
_NO_HALVES = ("float16", "bfloat16")
_ONLY_FLOATS = [*_NO_HALVES, *WHOLE]


def _sorted(*shape):
    """Lines in order."""
    return Placeholder(shape, values=np.arange(math.prod(shape)).reshape(shape))


_SEARCHED = [
    S(_sorted(9), x(4, 3, high=12)),
    S(_sorted(9), x(5, high=12), right=True),
    S(_sorted(3, 5), x(3, 2, low=0, high=16), side="right"),
    S(_sorted(100), x(7, high=90), out_int32=True),
    S(_sorted(0), x(3)),
    S(_sorted(4), x()),
]
_FRACTIONS = Placeholder((2,), values=np.array([0.3, 0.85]))
_QUANTILES = {
    "tensor": [
        S(_distinct(9), _FRACTIONS),
        S(_distinct(4, 6), _FRACTIONS, 1),
        S(_distinct(4, 6), _FRACTIONS, 0, True),
        S(_distinct(3, 5), unit(), interpolation="nearest"),
    ],
    "number": [
        S(_distinct(9), 0.3),
        S(_distinct(4, 6), 0.5, 1, interpolation="midpoint"),
        S(_distinct(4, 6), 0.7, 0, True, interpolation="lower"),
        S(_distinct(4, 6), 0.7, keepdim=True, interpolation="higher"),
        S(special(15), 0.2),
        S(x(), 0.5, 0),
    ],
}


def _marks(vector):
    """Where runs begin, of PyTorch's tensors."""
    return vector.isnan().new_tensor([i == 0 or a != b for i, (a, b) in enumerate(_neighbours(vector))])


def _neighbours(vector):
    elements = vector.tolist()
    return zip(elements, [None, *elements], strict=False)


def _members(values, lines, invert):
    """Membership in the last dimension of lines, for PyTorch's tensors."""
    lines = lines if lines.dim() == 1 else lines[..., None, :]
    return (values[..., None] == lines).any(-1) != invert


SAMPLES = {
    **{op: _SORTED for op in ("sort", "argsort")},
    **{op: _STABLE for op in ("sort_stable", "argsort_stable")},
    "topk": [
        S(_distinct(2, 9), 3).but("bool"),
        S(_distinct(9, 2), 4, 0).but("bool"),
        S(_distinct(3, 7), 7, -1, False).but("bool"),
        S(_distinct(2, 120), 30).but("bool"),
        S(_distinct(5), 0).but("bool"),
        S(x(), 1).but("bool"),
    ],
    "msort": [S(x(9, 3)), S(_distinct(16)), S(x()), S(x(0, 3))],
    "kthvalue": [
        S(_distinct(2, 9), 3),
        S(_distinct(9, 2), 9, 0, True),
        S(_distinct(100), 30),
        S(x(0, 3), 2),
        S(x(), 1),
    ],
    **{op: _EVERY for op in ("median", "nanmedian")},
    **{op: [*_CHOSEN, S(special(2), 0)] for op in ("median_dim", "nanmedian_dim")},
    "mode": [*_CHOSEN[:3], *_CHOSEN[5:], S(x(3, 16)), S(x(16, 2), 0, True)],  # short, as those of sort
    "search_places": [S(x(4, 3, high=12), _sorted(9), False), S(x(3, 2), _sorted(3, 5), True)],
    "search_members": [S(x(4, 3, high=12), _sorted(9), False), S(x(3, 2), _sorted(3, 5), True)],
    "searchsorted": [
        *but(("bool",), _SEARCHED),
        S(_sorted(4), x(0, 2)),
        S(fixed(np.array([5, 1, 3])), fixed(np.array([3, 4])), sorter=index(1, 2, 0)),
    ],
    "searchsorted_scalar": [S(_sorted(9), 3), S(_sorted(9), 2.5, right=True)],
    "bucketize": but(
        ("bool",), [S(x(4, 3, high=12), _sorted(9)), S(x(5), _sorted(4), right=True, out_int32=True)]
    ),
    "bucketize_scalar": [S(3, _sorted(9)), S(2.5, _sorted(9), right=True)],
    "isin": but(("bool",), [S(x(4, 3), x(5)), S(x(9), x(6), invert=True), S(x(), x(0)), S(x(0, 2), x(3))]),
    "isin_number": but(("bool",), [S(x(4, 3), 2), S(x(4, 3), 1, invert=True)]),
    "isin_of_number": but(("bool",), [S(2, x(5)), S(1.5, x(5), invert=True)]),
    "quantile": but(_ONLY_FLOATS, _QUANTILES["tensor"]),
    "nanquantile": but(_ONLY_FLOATS, _QUANTILES["tensor"]),
    "quantile_number": but(_ONLY_FLOATS, _QUANTILES["number"]),
    "nanquantile_number": but(_ONLY_FLOATS, _QUANTILES["number"]),
    "sort_rows": [S(x(9, 3)), S(x(40, 1)), S(x(0, 3))],
    "bin_counts": [
        S(x(20, low=0, high=6), None, 9),
        S(x(20, low=0, high=6), fixed(np.linspace(0, 1, 20)), 7),
        S(x(0), None, 2),
    ],
    "cell_counts": but(
        WHOLE,
        [
            S(x(40), _sorted(4), None),
            S(x(9), Placeholder((5,), values=np.array([-3, -1, 0, 0.5, 4])), unit(9)),
            S(x(0), _sorted(2), None),
        ],
    ),
    "run_marks": [S(Placeholder((7,), values=np.array([1, 1, 0, 0, 0, 1, 1]))), S(x(0)), S(x(30))],
    "bincount": [
        *but(("bool", *FLOATS), [S(x(20, low=0, high=6)), S(x(20, low=0, high=6), None, 9)]),
        S(x(20, low=0, high=6), fixed(np.linspace(0, 1, 20)), minlength=3).but("bool", *FLOATS),
        S(x(0), minlength=2).but("bool", *FLOATS),
    ],
    "histc": [S(x(40)), S(x(4, 10), 5, -2, 2), S(x(3), 4, 0, 8), S(x(0), 3), S(x(), 2)],
}
PYTORCH = {
    "sort_rows": lambda torch: lambda m: torch.from_numpy(np.lexsort(m.double().numpy().T[::-1])),
    "search_places": lambda torch: lambda v, s, right: torch.searchsorted(s, v, right=right),
    "search_members": lambda torch: _members,
    "cell_counts": lambda torch: lambda v, e, w: torch.histogram(v, e, weight=w)[0],
    "run_marks": lambda torch: _marks,
    "bin_counts": lambda torch: lambda v, w, n: torch.bincount(v, w, n),
}
NARROWER = {("search_members", "bool")}
