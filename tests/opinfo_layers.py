"""Samples of the rows behind the layers: activations, norms, rearrangements, convolutions, factorisations."""

import math

import numpy as np

import opinfo_layers_numpy
import opinfo_numpy
from opinfo import Placeholder, S, fixed, index, mask, nz, pos, special, unit, x

_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")


def _unary(extra=()):
    return [S(special(30)), S(x(2, 3, 4)), S(x(0, 3)), S(x()), *extra]


ACTIVATIONS = {
    **{
        name: _unary()
        for name in (
            *("log1p", "expm1", "log2", "log10", "exp2", "tan", "asin", "acos", "atan", "sinh", "cosh"),
            *("asinh", "acosh", "atanh", "erfc", "erfinv", "frac", "hardswish", "hardsigmoid", "mish"),
            *("log_sigmoid", "selu"),
        )
    },
    "softplus": _unary([S(x(2, 3), 2, 1), S(x(2, 3), beta=0.5)]),
    "prelu": [S(x(2, 3, 4), x(3)), S(x(2, 3, 4), x(1)), S(x(5), x(1)), S(x(), x()), S(x(0, 3), x(3))],
    "rrelu": _unary(
        [S(x(20), training=True).but("float16"), S(x(4, 5), 0.1, 0.9, True).but("float16"), S(x(9), 0.5, 0.5)]
    ),
    "celu": _unary([S(x(2, 3), 0.5), S(x(2, 3), -2)]),
    "threshold": [S(special(30), 1, 2), S(x(2, 3, 4), 0, 0), S(x(0, 3), 1, 2), S(x(), 1, 2)],
    "softshrink": _unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "hardshrink": _unary([S(x(2, 3), 2), S(x(2, 3), 0)]),
    "glu": [S(x(2, 6)), S(x(4, 3), 0), S(x(2, 4, 3), -2), S(x(0, 4)), S(special(30))],
}

_LONG = (2, 70, 9)
NORMS = {
    "layer_norm": [
        S(x(2, 3, 4), (4,), x(4), x(4)),
        S(x(2, 3, 4), (3, 4), x(3, 4), x(3, 4), 0.1),
        S(x(2, 3, 4), (4,)),
        S(x(*_LONG), (70, 9), None, x(70, 9)),
        S(x(2, 5), (5,), weight=x(5)),
        S(x(0, 3), (3,), x(3)),
    ],
    "rms_norm": [
        S(x(2, 3, 4), (4,), x(4)),
        S(x(2, 3, 4), (3, 4), x(3, 4), 0.1),
        S(x(2, 3, 4), (4,)),
        S(unit(3, 300), (300,)),
        S(x(0, 3), (3,)),
    ],
    "group_norm": [
        S(x(2, 6, 4), 3, x(6), x(6)),
        S(x(2, 6), 2, x(6), x(6), 0.1),
        S(x(2, 4, 3, 5), 1),
        S(x(2, 4, 3, 5), 4, x(4)),
        S(x(0, 4, 3), 2),
    ],
    "instance_norm": [
        S(x(2, 3, 5), x(3), x(3), None, None, True, 0.1, 1e-5, True),
        S(x(2, 3, 5), None, None, x(3), pos(3), True, 0.1, 1e-5, True),
        S(x(2, 3, 4, 5), x(3), x(3), x(3), pos(3), False, 0.1, 1e-5, True),
    ],
    **{
        name: [
            s.but(*_WHOLE)
            for s in (
                *(S(x(2, 3, 4)), S(x(2, 3, 4), 1, 1), S(x(2, 3, 4), 2, (0, 2)), S(x(70, 65), 2, 0)),
                *(S(x(2, 3, 4), 3, -1, True), S(x(2, 3, 4), 0, 1), S(x(2, 3, 4), math.inf, 1)),
                *(S(x(2, 3, 4), -math.inf, 1), S(nz(2, 3), -1.5, 1), S(x(70, 65), 2.5), S(x(0, 3), 2)),
                *(S(x(0, 3), math.inf, 1), S(x(), 2), S(special(30), 2), S(special(30), math.inf)),
            )
        ]
        for name in ("linalg_vector_norm", "norm")
    },
    "norm_text": [s.but(*_WHOLE) for s in (S(x(2, 3), "fro"), S(x(2, 3), "fro", 1, True))],
    "dist": [s.but(*_WHOLE) for s in (S(x(2, 3), x(2, 3)), S(x(2, 3), x(3), 1), S(x(5), x(5), math.inf))],
    "pairwise_distance": [
        S(x(4, 5), x(4, 5)).but("bool"),
        S(x(4, 5), x(5), 1.0).but("bool"),
        S(x(4, 5), x(4, 5), 2.0, 1e-3, True).but("bool"),
        S(x(5), x(5)).but("bool"),
    ],
    "cosine_similarity": [
        s.but(*_WHOLE)
        for s in (S(x(4, 5), x(4, 5)), S(x(4, 5), x(5), -1), S(x(4, 5), x(4, 1), 0, 0.5), S(x(3), x(3), 0))
    ],
}


def distinct(*shape):
    """Values that all differ, in every dtype but bool, out of order."""
    n = math.prod(shape)
    order = np.random.default_rng(n).permutation(n) + 1
    return Placeholder(shape, values=order.reshape(shape))


_SORTED = [  # short, since only a stable sort says where equal elements go
    S(x(2, 3, 4)),
    S(distinct(2, 16), -1),
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
_SCANS = [S(unit(2, 3, 4), 1), S(unit(5), 0), S(unit(2, 3, 4), -1), S(x(0, 3), 0), S(x(), 0)]
_PIXELS = (2, 3, 4, 6)
ARRANGEMENTS = {
    "embedding": [
        S(x(5, 3), index(1, 4, 1)),
        S(x(5, 3), fixed(np.array([[0, 1], [3, 2]], dtype=np.int32))),
        S(x(5, 3), fixed(np.int64(2)), 2),
        S(x(5, 3), index()),
    ],
    "gather": [
        S(x(3, 4), 1, fixed(np.array([[0, 3], [1, 1], [2, 0]]))),
        S(x(3, 4), 0, fixed(np.array([[0, 2, 1], [1, 1, 2]], dtype=np.int32))),
        S(x(2, 3, 4), -1, fixed(np.array([[[3], [0]]]))),
        S(x(5), 0, index(4, 4, 0)),
        S(x(), 0, index(0)),
        S(x(3, 4), 1, index()),
    ],
    **{
        op: [S(x(4, 5)), S(x(2, 5, 3), 1), S(x(4, 4), -2), S(x(3, 4), 9), S(x(3, 4), -9), S(x(0, 3))]
        for op in ("tril", "triu")
    },
    "cumsum": [S(x(2, 3, 4), 1), *_SCANS],
    "cumprod": _SCANS,
    **{op: _SORTED for op in ("sort", "argsort")},
    **{op: _STABLE for op in ("sort_stable", "argsort_stable")},
    "topk": [
        S(distinct(2, 9), 3).but("bool"),
        S(distinct(9, 2), 4, 0).but("bool"),
        S(distinct(3, 7), 7, -1, False).but("bool"),
        S(distinct(5), 0).but("bool"),
        S(x(), 1).but("bool"),
    ],
    "nonzero": [
        S(x(3, 4)),
        S(unit(5)),
        S(x()),
        S(x(0, 3)),
        S(x(2, 3, 2), as_tuple=True),
        S(x(), as_tuple=True),
    ],
    "masked_select": [S(x(3, 4), mask(3, 4)), S(x(3, 4), mask(4)), S(x(4), mask(3, 4)), S(x(0, 3), mask(3))],
    "roll": [
        S(x(3, 4), 1),
        S(x(3, 4), -2, 1),
        S(x(3, 4), (1, 5), (0, 1)),
        S(x(2, 3, 4), (1, 1), (-1, -1)),
        S(x(0, 3), 1, 1),
        S(x(), 3),
    ],
    "flip": [S(x(3, 4), (0,)), S(x(2, 3, 4), (0, -1)), S(x(3, 4), ()), S(x(0, 3), (1,))],
    "repeat": [S(x(3), (2,)), S(x(2, 3), (2, 1, 2)), S(x(2, 3), (0, 2)), S(x(), (3,)), S(x(2, 1), (1, 4))],
    "tile": [S(x(3), (2,)), S(x(2, 3), (2,)), S(x(2, 3), (2, 1, 2)), S(x(), (3,))],
    "repeat_interleave": [S(x(2, 3), 2), S(x(2, 3), 3, 1), S(x(2, 3), 0, 0), S(x(), 2)],
    "repeat_interleave_tensor": [
        S(x(3, 2), index(2, 0, 1), 0),
        S(x(3), index(2, 0, 1)),
        S(x(2, 3), index(2), -1),
        S(x(3, 2), index(2, 0, 1), 0, output_size=3),
    ],
    "repeat_interleave_index": [S(index(2, 0, 3)), S(index())],
    "movedim": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), (0, 1), (-1, 0)), S(x(), 0, 0)],
    "moveaxis": [S(x(2, 3, 4), 2, 0)],
    "swapaxes": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1)],
    "swapdims": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1)],
    "unflatten": [S(x(2, 6), 1, (2, 3)), S(x(6, 2), 0, (3, -1)), S(x(2, 6), -1, (1, 6, 1))],
    "diagonal": [
        S(x(3, 4)),
        S(x(3, 4), 1),
        S(x(3, 4), -2),
        S(x(2, 3, 4), 0, -1, 0),
        S(x(3, 4), 9),
        S(x(2, 3, 4), -1, 1, 2),
    ],
    "diag": [S(x(3, 4)), S(x(3, 4), 1), S(x(4, 3), -2), S(x(3)), S(x(3), 2), S(x(3), -1), S(x(2, 3), 7)],
    "pixel_shuffle": [S(x(8, 3, 2), 2), S(x(2, 9, 2, 5), 3), S(x(2, 4, 0, 3), 2), S(x(3, 2, 2), 1)],
    "pixel_unshuffle": [S(x(*_PIXELS), 2), S(x(1, 6, 3), 3), S(x(0, 2, 4, 6), 2)],
}


def small(*shape):
    """PyTorch rounds halves on the way: little to round."""
    return x(*shape, low=-0.5, high=0.5)


_LINE, _CUBE = (2, 3, 9), (2, 2, 5, 6, 4)
_POOLS1 = [S(x(*_LINE), 2), S(x(3, 9), 3, 2, 1), S(x(*_LINE), (2,), (2,), ceil_mode=True), S(x(0, 3, 9), 2)]
_POOLS3 = [
    S(x(*_CUBE), 2),
    S(x(*_CUBE[1:]), (3, 2, 2), (2, 1, 3), (1, 1, 0)),
    S(x(*_CUBE), 3, 2, 1, ceil_mode=True),
    S(x(0, *_CUBE[1:]), 2),
]
CONVOLUTIONS = {
    "conv1d": [
        S(x(*_LINE), x(4, 3, 3), x(4)),
        S(x(3, 9), x(4, 3, 3)),
        S(x(*_LINE), x(4, 3, 2), x(4), 2, 1, 3),
        S(x(*_LINE), x(6, 1, 3), x(6), padding=1, groups=3),
        S(x(*_LINE), x(4, 3, 4), padding="same"),
        S(x(*_LINE), x(4, 3, 3), None, (1,), "valid", (2,)),
        S(x(1, 3, 300, low=-1, high=1), x(33, 3, 5, low=-1, high=1), x(33), 1, 2),
        S(x(0, 3, 9), x(4, 3, 3)),
    ],
    "conv3d": [
        S(x(*_CUBE), x(3, 2, 2, 3, 2), x(3)),
        S(x(*_CUBE[1:]), x(3, 2, 2, 2, 2)),
        S(x(*_CUBE), x(3, 2, 2, 2, 2), x(3), (1, 2, 1), (1, 0, 2), (2, 1, 1)),
        S(x(*_CUBE), x(4, 1, 3, 3, 3), x(4), padding=1, groups=2),
        S(x(*_CUBE), x(3, 2, 3, 2, 1), padding="same"),
        S(x(0, *_CUBE[1:]), x(3, 2, 2, 2, 2)),
    ],
    "conv_transpose1d": [
        S(small(*_LINE), small(3, 4, 3), small(4)),
        S(small(3, 9), small(3, 4, 3)),
        S(small(*_LINE), small(3, 2, 3), small(6), 2, 1, 1, 3),
        S(small(*_LINE), small(3, 4, 3), None, 3, 0, 2, 1, 2),
    ],
    "conv_transpose2d": [
        S(small(2, 3, 4, 5), small(3, 4, 3, 2), small(4)),
        S(small(3, 4, 5), small(3, 4, 2, 2), None, 2),
        S(small(2, 4, 4, 5), small(4, 2, 3, 3), small(4), (2, 3), (1, 0), (1, 2), 2, (1, 2)),
        S(small(0, 3, 4, 5), small(3, 4, 2, 2)),
    ],
    "conv_transpose3d": [
        S(small(*_CUBE), small(2, 3, 2, 3, 2), small(3)),
        S(small(*_CUBE), small(2, 2, 2, 2, 2), small(4), (1, 2, 3), (0, 1, 1), (0, 1, 2), 2),
    ],
    "max_pool1d": [*_POOLS1, S(x(*_LINE), 3, 1, 1, 2), S(special(2, 15), 4, 1)],
    "max_pool1d_with_indices": [*_POOLS1, S(x(*_LINE), 3, 1, 1, 2)],
    "max_pool2d_with_indices": [
        S(x(2, 3, 7, 6), 2),
        S(x(3, 7, 6), (3, 2), (2, 1), (1, 1)),
        S(x(2, 3, 7, 6), 2, 1, 1, (3, 1)),
        S(special(1, 6, 5), 2, 2, ceil_mode=True),
        S(x(0, 3, 7, 6), 2),
    ],
    **{op: [*_POOLS3, S(x(*_CUBE), 2, 1, 1, 2)] for op in ("max_pool3d", "max_pool3d_with_indices")},
    "avg_pool1d": [*_POOLS1, S(x(*_LINE), 3, 2, 1, count_include_pad=False)],
    "avg_pool3d": [*_POOLS3, S(x(*_CUBE), 3, 2, 1, False, False), S(x(*_CUBE), 2, divisor_override=3)],
    **{
        op: [S(x(*_LINE), 4), S(x(3, 9), 1), S(x(*_LINE), (13,)), S(x(0, 3, 9), 2)]
        for op in ("adaptive_avg_pool1d", "adaptive_max_pool1d")
    },
    "adaptive_max_pool2d": [S(x(2, 3, 7, 6), (3, 4)), S(x(3, 7, 6), 1), S(x(2, 3, 7, 6), (9, 2))],
    **{
        op: [S(x(*_CUBE), (3, 4, 2)), S(x(*_CUBE[1:]), 1), S(x(*_CUBE), (7, 1, 4))]
        for op in ("adaptive_avg_pool3d", "adaptive_max_pool3d")
    },
}

PRODUCTS = {
    "dot": [S(x(5), x(5)), S(x(0), x(0))],
    "mv": [S(x(3, 4), x(4)), S(x(0, 4), x(4)), S(x(3, 0), x(0))],
    "mm": [S(x(3, 4), x(4, 5)), S(x(0, 4), x(4, 5)), S(x(3, 0), x(0, 5))],
    "bmm": [S(x(2, 3, 4), x(2, 4, 5)), S(x(0, 3, 4), x(0, 4, 5))],
    "addmm": [
        S(x(3, 5), x(3, 4), x(4, 5)),
        S(x(5), x(3, 4), x(4, 5), beta=2, alpha=3),
        S(special(5), x(3, 4), x(4, 5), beta=0),
        S(x(), x(3, 0), x(0, 5)),
    ],
    "baddbmm": [
        S(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5)),
        S(x(3, 1), x(2, 3, 4), x(2, 4, 5), beta=2, alpha=3),
    ],
    "outer": [S(x(3), x(4)), S(x(0), x(4))],
    "ger": [S(x(3), x(4))],
    "linalg_qr": [
        s.but(*_WHOLE, "float16", "bfloat16")
        for s in (
            *(S(x(5, 3)), S(x(3, 5)), S(x(4, 4)), S(x(2, 4, 3)), S(x(5, 3), "complete"), S(x(4, 3), "r")),
            *(
                S(x(3, 0), "complete"),
                S(x(0, 3)),
                S(Placeholder((3, 3), values=np.diag([1.0, -2.0, 3.0]), kinks=True)),
            ),
        )
    ],
    "lerp": [
        S(x(2, 3), x(2, 3), 0.25),
        S(x(2, 3), x(3), 0.75),
        S(x(2, 3), x(2, 3), unit(2, 3)),
        S(x(0, 3), x(3), 1),
    ],
    "addcmul": [S(x(2, 3), x(2, 3), x(2, 3)), S(x(2, 1), x(3), x(2, 3), value=2), S(x(0, 3), x(3), x())],
    "addcdiv": [
        s.but(*_WHOLE)
        for s in (S(x(2, 3), x(2, 3), nz(2, 3)), S(x(2, 1), x(3), nz(2, 3), value=2), S(x(0, 3), x(3), nz(3)))
    ],
}

SAMPLES = {**ACTIVATIONS, **NORMS, **ARRANGEMENTS, **CONVOLUTIONS, **PRODUCTS}


RANDOM = {"rrelu"}
opinfo_numpy.NUMPY.update(opinfo_layers_numpy.NUMPY)
THEIRS = {  # PyTorch keeps these elsewhere
    "linalg_vector_norm": lambda torch: torch.linalg.vector_norm,
    "linalg_qr": lambda torch: torch.linalg.qr,
}
WIDER = {  # PyTorch has no kernel for these
    *(("avg_pool3d", dtype) for dtype in ("float16", "bfloat16")),
    *((op, dtype) for op in ("conv1d", "conv3d") for dtype in ("uint8", "int8", "int16", "int32")),
}
NARROWER = {(op, "int64") for op in SAMPLES if "avg_pool" in op or "transpose" in op}  # and nobody here


def join(samples, random, theirs):
    """Adds these rows to what tests/opinfo.py has."""
    samples.update(SAMPLES)
    random |= RANDOM
    theirs.update(THEIRS)
