"""Samples and NumPy's answers: pooling."""

import math

import numpy as np

from op_samples.conv import as_pair, window_views
from op_samples.pytorch import dense_aten, grad_of
from op_samples.sample import S, fixed, special, unit, x

_LINE, _IMAGE, _CUBE = (2, 3, 9), (2, 3, 7, 6), (2, 2, 5, 6, 4)
_POOLS1 = [S(x(*_LINE), 2), S(x(3, 9), 3, 2, 1), S(x(*_LINE), (2,), (2,), ceil_mode=True), S(x(0, 3, 9), 2)]
_POOLS3 = [
    S(x(*_CUBE), 2),
    S(x(*_CUBE[1:]), (3, 2, 2), (2, 1, 3), (1, 1, 0)),
    S(x(*_CUBE), 3, 2, 1, ceil_mode=True),
    S(x(0, *_CUBE[1:]), 2),
]
SAMPLES = {
    "max_pool1d": [*_POOLS1, S(x(*_LINE), 3, 1, 1, 2), S(special(2, 15), 4, 1)],
    "max_pool2d": [
        S(x(*_IMAGE), 2),
        S(x(*_IMAGE), (3, 2), (2, 1), (1, 1)),
        S(x(3, 7, 6), 2, 2),
        S(x(*_IMAGE), 2, 2, 0, 2),
        S(x(*_IMAGE), 2, ceil_mode=True),
        S(x(0, 3, 7, 6), 2),
    ],
    **{op: [*_POOLS3, S(x(*_CUBE), 2, 1, 1, 2)] for op in ("max_pool3d", "max_pool3d_with_indices")},
    "max_pool1d_with_indices": [*_POOLS1, S(x(*_LINE), 3, 1, 1, 2)],
    "max_pool2d_with_indices": [
        S(x(2, 3, 7, 6), 2),
        S(x(3, 7, 6), (3, 2), (2, 1), (1, 1)),
        S(x(2, 3, 7, 6), 2, 1, 1, (3, 1)),
        S(special(1, 6, 5), 2, 2, ceil_mode=True),
        S(x(0, 3, 7, 6), 2),
    ],
    "avg_pool1d": [*_POOLS1, S(x(*_LINE), 3, 2, 1, count_include_pad=False)],
    "avg_pool2d": [
        S(x(*_IMAGE), 2),
        S(x(*_IMAGE), (3, 2), (2, 1), (1, 1)),
        S(x(*_IMAGE), 3, 2, 1, True, False),
        S(x(3, 7, 6), 2, 2, divisor_override=3),
    ],
    "avg_pool3d": [*_POOLS3, S(x(*_CUBE), 3, 2, 1, False, False), S(x(*_CUBE), 2, divisor_override=3)],
    **{
        op: [S(x(*_LINE), 4), S(x(3, 9), 1), S(x(*_LINE), (13,)), S(x(0, 3, 9), 2)]
        for op in ("adaptive_avg_pool1d", "adaptive_max_pool1d")
    },
    "adaptive_avg_pool2d": [S(x(*_IMAGE), (3, 2)), S(x(*_IMAGE), (1, 1)), S(x(3, 7, 6), (None, 4))],
    "adaptive_max_pool2d": [S(x(2, 3, 7, 6), (3, 4)), S(x(3, 7, 6), 1), S(x(2, 3, 7, 6), (9, 2))],
    **{
        op: [S(x(*_CUBE), (3, 4, 2)), S(x(*_CUBE[1:]), 1), S(x(*_CUBE), (7, 1, 4))]
        for op in ("adaptive_avg_pool3d", "adaptive_max_pool3d")
    },
}


def _places(shape, volume):
    """Indices of a plane's elements, some of them equal."""
    return fixed(np.random.default_rng(volume).integers(0, volume, shape))


def _apart(shape, volume, spatial):
    """The same, all of a plane different."""
    rng = np.random.default_rng(volume)
    places, planes = (math.prod(part) for part in (shape[-spatial:], shape[:-spatial]))
    rows = [rng.permutation(volume)[:places] for _ in range(planes)]
    return fixed(np.array(rows).reshape(shape))


def _plain(kernel, stride, pad):
    return lambda o, size, _: range(max(o * stride - pad, 0), min(o * stride - pad + kernel, size))


def _adaptive(o, size, many):
    return range(o * size // many, -(-(o + 1) * size // many))


def _seen(shape, size, window):
    """Indices of a plane's elements, each among those that its output sees."""
    rng = np.random.default_rng(math.prod(size))
    first, chosen = len(shape) - len(size), np.zeros(shape, np.int64)
    for d, n in enumerate(size, first):
        spans = [window(o, n, shape[d]) for o in range(shape[d])]
        along = np.array([rng.choice(span, shape) for span in spans])
        chosen = chosen * n + np.take_along_axis(along, np.indices(shape)[d][None], 0)[0]
    return fixed(chosen)


SAMPLES |= {
    "max_unpool2d": [
        S(x(2, 3, 3, 2), _apart((2, 3, 3, 2), 35, 2), (7, 5)),
        S(x(3, 2, 2), _apart((3, 2, 2), 16, 2), 4),
        S(x(0, 3, 2, 2), fixed(np.zeros((0, 3, 2, 2), np.int64)), 4),
    ],
    "max_unpool3d": [
        S(x(2, 2, 2, 3, 2), _apart((2, 2, 2, 3, 2), 60, 3), (4, 5, 3), 2, 0),
        S(x(2, 2, 1, 2), _apart((2, 2, 1, 2), 8, 3), 2, (1, 1, 1), (0, 0, 0)),
    ],
    "fractional_max_pool2d": [
        S(x(2, 3, 7, 6), 2, (4, 3), unit(2, 3, 2)),
        S(x(3, 7, 6), (3, 1), 1, unit(1, 3, 2)),
        S(special(1, 1, 9, 9), 3, (5, 6), unit(1, 1, 2)),
        S(x(0, 3, 7, 6), 2, 2, unit(0, 3, 2)),
    ],
    "fractional_max_pool3d": [
        S(x(*_CUBE), 2, (3, 3, 2), unit(2, 2, 3)),
        S(x(2, 5, 6, 4), (1, 3, 2), 2, unit(1, 2, 3)),
    ],
}

BACKWARD = {
    "max_pool1d_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2),
        S(x(3, 5), x(3, 9), 3, 2, 1),
        S(x(2, 3, 5), x(2, 3, 9), 2, ceil_mode=True),
        S(x(2, 12), special(2, 15), 4, 1),
        S(x(2, 35), special(2, 70), 3, 2, 1),
        S(x(2, 12), x(2, 35), 2, 3),
        S(x(0, 3, 4), x(0, 3, 9), 2),
    ],
    "max_pool2d_backward": [
        S(x(2, 3, 3, 3), x(*_IMAGE), 2),
        S(x(2, 2, 17), special(2, 5, 35), 2, 2),
        S(x(3, 7, 7), x(3, 7, 6), (3, 2), (1, 1), (1, 1)),
        S(x(2, 3, 4, 3), special(*_IMAGE), 2, 2, ceil_mode=True),
        S(x(2, 3, 2, 4), x(*_IMAGE), 3, (2, 1), 0, (2, 1)),
        S(x(2, 5, 18), special(2, 9, 36), 3, 2, 1),
        S(x(2, 7, 16), special(2, 7, 16), 3, 1, 1),
        S(x(1, 3, 6), x(1, 9, 19), 3, 3, (1, 0)),
        S(x(1, 2, 17), x(1, 6, 36), 3, 2, 1, 2),
        S(x(0, 3, 3, 3), x(0, 3, 7, 6), 2),
    ],
    "max_pool3d_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2),
        S(x(2, 5, 3, 3), x(2, 5, 6, 4), (3, 2, 2), (1, 2, 2), (1, 0, 1)),
        S(x(1, 2, 2, 17), special(1, 4, 4, 33), 3, 2, 1),
        S(x(0, 2, 2, 3, 2), x(0, *_CUBE[1:]), 2),
    ],
    "max_pool1d_with_indices_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2, None, 0, 1, False, _seen((2, 3, 4), (9,), _plain(2, 2, 0)))
    ],
    "max_pool2d_with_indices_backward": [
        S(x(2, 3, 3, 3), x(*_IMAGE), 2, 2, 0, 1, False, _seen((2, 3, 3, 3), (7, 6), _plain(2, 2, 0))),
        S(x(3, 4, 4), x(3, 7, 6), 3, 2, 1, 1, True, _seen((3, 4, 4), (7, 6), _plain(3, 2, 1))),
    ],
    "max_pool3d_with_indices_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2, 2, 0, 1, False, _seen((2, 2, 2, 3, 2), (5, 6, 4), _plain(2, 2, 0)))
    ],
    "adaptive_max_pool1d_backward": [S(x(2, 3, 4), x(2, 3, 9), _seen((2, 3, 4), (9,), _adaptive))],
    "adaptive_max_pool2d_backward": [
        S(x(2, 3, 3, 4), x(*_IMAGE), _seen((2, 3, 3, 4), (7, 6), _adaptive)),
        S(x(3, 1, 1), x(3, 7, 6), _seen((3, 1, 1), (7, 6), _adaptive)),
    ],
    "adaptive_max_pool3d_backward": [
        S(x(2, 2, 3, 4, 2), x(*_CUBE), _seen((2, 2, 3, 4, 2), (5, 6, 4), _adaptive))
    ],
    "fractional_max_pool2d_backward": [
        S(x(2, 3, 4, 3), x(*_IMAGE), 2, (4, 3), _places((2, 3, 4, 3), 42)),
        S(x(3, 1, 1), x(3, 7, 6), 2, 1, _places((3, 1, 1), 42)),
    ],
    "fractional_max_pool3d_backward": [
        S(x(2, 2, 3, 3, 2), x(*_CUBE), 2, (3, 3, 2), _places((2, 2, 3, 3, 2), 120))
    ],
    "avg_pool1d_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2),
        S(x(3, 5), x(3, 9), 3, 2, 1, False, False),
        S(x(2, 3, 5), x(2, 3, 9), 2, ceil_mode=True),
    ],
    "avg_pool2d_backward": [
        S(x(2, 3, 3, 3), x(*_IMAGE), 2),
        S(x(3, 7, 7), x(3, 7, 6), (3, 2), (1, 1), (1, 1)),
        S(x(2, 3, 4, 4), x(*_IMAGE), 3, 2, 1, True, False),
        S(x(2, 3, 3, 3), x(*_IMAGE), 2, divisor_override=3),
        S(x(0, 3, 3, 3), x(0, 3, 7, 6), 2),
    ],
    "avg_pool3d_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2),
        S(x(2, 5, 3, 3), x(2, 5, 6, 4), (3, 2, 2), (1, 2, 2), (1, 0, 1), False, False),
    ],
    "adaptive_avg_pool1d_backward": [S(x(2, 3, 4), x(2, 3, 9))],
    "adaptive_avg_pool2d_backward": [S(x(2, 3, 3, 4), x(*_IMAGE)), S(x(3, 1, 1), x(3, 7, 6))],
    "adaptive_avg_pool3d_backward": [S(x(2, 2, 3, 4, 2), x(*_CUBE))],
}
WIDER = {(op, dtype) for op in ("avg_pool3d", "avg_pool3d_backward") for dtype in ("float16", "bfloat16")}
NARROWER = {(op, "int64") for op in SAMPLES if "avg_pool" in op and op != "adaptive_avg_pool2d"}


# ---- NumPy's side ----
def _max_pool2d(a, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    kernel, dilation, padding = as_pair(kernel), as_pair(dilation), as_pair(padding)
    stride = as_pair(stride or kernel)
    least = -np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
    sides = [(0, 0)] * (a.ndim - 2)
    for size, k, s, p, d in zip(a.shape[-2:], kernel, stride, padding, dilation):
        rest = size + 2 * p - d * (k - 1) - 1
        extra = (-rest) % s if ceil_mode and (rest // s + 1) * s < size + p else 0
        sides.append((p, p + extra))
    views = window_views(np.pad(a, sides, constant_values=least), kernel, stride, dilation)
    return views.max(axis=(-2, -1), initial=least) if views.size == 0 else views.max(axis=(-2, -1))


NUMPY = {
    "max_pool2d": _max_pool2d,
}


# ---- PyTorch's side ----
def _lifted(name):
    """PyTorch has it for planes only: a row of one plane."""

    def run(torch, grad, source, *args):
        *numbers, indices = args
        kernel = [[1, n or numbers[0]] for n in numbers[:2]] + [[0, numbers[2]], [1, 1]] if numbers else []
        ceil = numbers[4:]
        up = [t.unsqueeze(-2) for t in (grad, source, indices)]
        return getattr(torch.ops.aten, name)(*up[:2], *kernel, *ceil, up[2]).squeeze(-2)

    return lambda torch: lambda *args: run(torch, *args)


def _adaptive_average(n):
    def run(torch, grad, source):
        theirs = getattr(torch.nn.functional, f"adaptive_avg_pool{n}d")
        return grad_of(lambda torch: theirs)(torch)(grad, source, tuple(grad.shape[-n:]))

    return lambda torch: lambda grad, source: run(torch, grad, source)


PYTORCH = {
    "max_pool2d": lambda torch: torch.nn.functional.max_pool2d,
    "avg_pool2d": lambda torch: torch._C._nn.avg_pool2d,
    "adaptive_avg_pool2d": lambda torch: torch.nn.functional.adaptive_avg_pool2d,
    **{
        f"{kind}_pool{n}d_backward": grad_of(
            lambda torch, kind=kind, n=n: getattr(torch.nn.functional, f"{kind}_pool{n}d")
        )
        for n in (1, 2, 3)
        for kind in ("avg", "max")
    },
    **{f"adaptive_avg_pool{n}d_backward": _adaptive_average(n) for n in (1, 2, 3)},
    **{
        name: dense_aten(name)
        for name in (
            *("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"),
            *("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward"),
            *("fractional_max_pool2d_backward", "fractional_max_pool3d_backward"),
        )
    },
    "max_pool1d_with_indices_backward": _lifted("max_pool2d_with_indices_backward"),
    "adaptive_max_pool1d_backward": _lifted("adaptive_max_pool2d_backward"),
}
