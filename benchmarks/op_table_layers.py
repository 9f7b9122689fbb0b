"""Calls of layers at each size, for op_table.py: norms, products, convolutions, pools."""

import math

import numpy as np

from op_cases import call, laid
from op_samples.sample import fixed, pos, x


def ints(shape, high):
    return fixed(np.random.default_rng(3).integers(0, high, shape))


def side(size):
    """Of a square of so many elements."""
    return math.isqrt(math.prod(size.rows))


# ---- norms ----
def _row_norm(bias):
    def cases(s):
        width = s.rows[1]
        weights = [x(width)] * (2 if bias else 1)
        return [call("rows", x(*s.rows), (width,), *weights), call("no weight", x(*s.rows), (width,))]

    return cases


def _group_norm(s):
    c = s.image[1]
    return [
        call("image", x(*s.image), 8, x(c), x(c)),
        call("channels_last", laid(s.image, "channels_last"), 8, x(c), x(c)),
        call("no weight", x(*s.image), 8),
    ]


def _channel_norm(name):
    def cases(s):
        c = s.image[1]
        weights, running = (x(c), x(c)), (x(c), pos(c))
        rest = (0.1, 1e-5, True)
        made = [call("image", x(*s.image), *weights, None, None, True, *rest)]
        if name == "batch_norm":
            turned = laid(s.image, "channels_last")
            made += [
                call("channels_last", turned, *weights, None, None, True, *rest),
                call("rows", x(*s.rows), *[x(s.rows[1])] * 2, None, None, True, *rest),
                call("running", x(*s.image), *weights, *running, False, *rest),
            ]
        return made

    return cases


# ---- products ----
def _square(s):
    return side(s), 2 * side(s) ** 3


def _mm(s):
    n, flops = _square(s)
    turned = laid((n, n), "transposed")
    return [
        call("square", x(n, n), x(n, n), flops=flops),
        call("by transposed", x(n, n), turned, flops=flops),
    ]


def _matmul(s):
    n, flops = _square(s)
    rows, columns = s.rows
    return [
        call("square", x(n, n), x(n, n), flops=flops),
        call("one row", x(1, n), x(n, n), flops=2 * n * n),
        call("thin", x(*s.rows), x(columns, 10), flops=20 * rows * columns),
    ]


def _linear(s):
    rows, width = s.rows
    flops = 2 * rows * width * width
    return [call("rows", x(*s.rows), x(width, width), x(width), flops=flops)]


def _bmm(with_sum):
    def cases(s):
        b, n, m = s.volume
        left = [x(b, n, n)] if with_sum else []
        return [call("volume", *left, x(b, n, m), x(b, m, n), flops=2 * b * n * n * m)]

    return cases


def _addmm(s):
    n, flops = _square(s)
    return [call("square", x(n), x(n, n), x(n, n), flops=flops)]


def _outer(s):
    return [call("square", x(side(s)), x(side(s)))]


# ---- windows ----
def _conv2d(s):
    b, c, h, w = s.image
    plane = b * h * w
    inputs = (("image", x(*s.image)), ("channels_last", laid(s.image, "channels_last")))
    wide = [call(f"3x3 {name}", t, x(c, c, 3, 3), x(c), 1, 1, flops=18 * plane * c * c) for name, t in inputs]
    return [
        *wide,
        call("1x1", x(*s.image), x(c, c, 1, 1), x(c), flops=2 * plane * c * c),
        call("3x3 by 2", x(*s.image), x(c, c, 3, 3), x(c), 2, 1, flops=18 * plane * c * c // 4),
        call("depthwise", x(*s.image), x(c, 1, 3, 3), x(c), 1, 1, 1, c, flops=18 * plane * c),
    ]


def _conv1d(s):
    b, c, n = s.volume
    return [call("k 3", x(*s.volume), x(c, c, 3), x(c), 1, 1, flops=6 * b * c * c * n)]


def _conv_tbc(s):
    b, c, n = s.volume
    return [call("k 3", x(n, b, c), x(3, c, c), x(c), 1, flops=6 * b * c * c * n)]


def _convolution(*switches):
    def cases(s):
        b, c, h, w = s.image
        rest = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, *switches)
        return [call("3x3 image", x(*s.image), x(c, c, 3, 3), x(c), *rest, flops=18 * b * h * w * c * c)]

    return cases


def _convolution_mode(s):
    b, c, h, w = s.image
    rest = ([1, 1], "same", [1, 1], 1)
    return [call("3x3 same", x(*s.image), x(c, c, 3, 3), x(c), *rest, flops=18 * b * h * w * c * c)]


def _cube(s):
    b, c, h, w = s.image
    return b, c // 4, 4, h, w


def _conv3d(s):
    b, c, *sides = _cube(s)
    return [
        call("3x3x3", x(*_cube(s)), x(c, c, 3, 3, 3), x(c), 1, 1, flops=54 * b * c * c * math.prod(sides))
    ]


def _conv_transpose(n):
    def cases(s):
        shape = {1: s.volume, 2: s.image, 3: _cube(s)}[n]
        b, c, *sides = shape
        flops = 2 * b * c * c * math.prod(sides) * 2**n
        return [call("2 by 2", x(*shape), x(c, c, *[2] * n), x(c), 2, flops=flops)]

    return cases


def _pool(n, adaptive=False):
    def cases(s):
        shape = {1: s.volume, 2: s.image, 3: _cube(s)}[n]
        if adaptive:
            return [call("to 1", x(*shape), (1,) * n), call("to 4", x(*shape), (4,) * n)]
        made = [call("2", x(*shape), 2), call("3 by 2", x(*shape), 3, 2, 1)]
        if n == 2:
            made.append(call("channels_last 3 by 2", laid(shape, "channels_last"), 3, 2, 1))
        return made

    return cases


def _upsample(*more):
    def cases(s):
        h, w = s.image[2:]
        return [
            call("twice", x(*s.image), (2 * h, 2 * w), *more),
            call("channels_last", laid(s.image, "channels_last"), (2 * h, 2 * w), *more),
        ]

    return cases


LAYERS = {
    "layer_norm": _row_norm(True),
    "rms_norm": _row_norm(False),
    "group_norm": _group_norm,
    "batch_norm": _channel_norm("batch_norm"),
    "instance_norm": _channel_norm("instance_norm"),
    "mm": _mm,
    "matmul": _matmul,
    "linear": _linear,
    "bmm": _bmm(False),
    "baddbmm": _bmm(True),
    "addmm": _addmm,
    "outer": _outer,
    "ger": _outer,
    "addmv": lambda s: [call("rows", x(s.rows[0]), x(*s.rows), x(s.rows[1]), flops=2 * math.prod(s.rows))],
    "mv": lambda s: [call("rows", x(*s.rows), x(s.rows[1]), flops=2 * math.prod(s.rows))],
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "conv3d": _conv3d,
    "conv_tbc": _conv_tbc,
    "convolution": _convolution(),
    "_convolution": _convolution(False, False, True, True),
    "_convolution_mode": _convolution_mode,
    **{f"conv_transpose{n}d": _conv_transpose(n) for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": _pool(n) for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"adaptive_{kind}_pool{n}d": _pool(n, True) for kind in ("max", "avg") for n in (1, 2, 3)},
    "upsample_nearest2d": _upsample(),
    "upsample_bilinear2d": _upsample(False),
}
