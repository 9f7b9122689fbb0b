"""Samples and NumPy's answers: convolutions."""

import numpy as np

from op_samples.sample import WHOLE, S, small, x

_LINE, _IMAGE, _CUBE = (2, 3, 9), (2, 3, 7, 6), (2, 2, 5, 6, 4)
SAMPLES = {
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
    "conv2d": [
        S(x(*_IMAGE), x(4, 3, 3, 3), x(4)),
        S(x(*_IMAGE), x(4, 3, 3, 3)),
        S(x(3, 7, 6), x(4, 3, 3, 2), x(4)),
        S(x(*_IMAGE), x(4, 3, 3, 3), x(4), 2, 1),
        S(x(*_IMAGE), x(4, 3, 2, 2), None, (2, 1), (1, 0), (1, 2)),
        S(x(*_IMAGE), x(6, 1, 3, 3), x(6), groups=3, padding=1),
        S(x(*_IMAGE), x(4, 3, 3, 3), padding="same"),
        S(x(1, 1, 12, 12), x(6, 1, 5, 5), x(6)),
        S(x(0, 3, 7, 6), x(4, 3, 3, 3)),
    ],
    "conv3d": [
        S(x(*_CUBE), x(3, 2, 2, 3, 2), x(3)),
        S(x(*_CUBE[1:]), x(3, 2, 2, 2, 2)),
        S(x(*_CUBE), x(3, 2, 2, 2, 2), x(3), (1, 2, 1), (1, 0, 2), (2, 1, 1)),
        S(x(*_CUBE), x(4, 1, 3, 3, 3), x(4), padding=1, groups=2),
        S(x(*_CUBE), x(3, 2, 3, 2, 1), padding="same"),
        S(x(3, 2, 2, 3, 2), x(14, 2, 1, 2, 2), None, 2, 3, 3),
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
        S(small(1, 2, 3, 4), small(2, 3, 2, 3), None, (1, 2), (1, 0), (1, 0), 1, (2, 1)),
        S(small(3, 2, 1, 1), small(2, 3, 4, 4), small(3), 1, 1),
        S(small(1, 2, 2, 3), small(2, 1, 1, 2), small(1), 3, 0, 2),
    ],
    "conv_transpose3d": [
        S(small(*_CUBE), small(2, 3, 2, 3, 2), small(3)),
        S(small(*_CUBE), small(2, 2, 2, 2, 2), small(4), (1, 2, 3), (0, 1, 1), (0, 1, 2), 2),
    ],
    "conv_tbc": [
        S(small(5, 2, 3), small(3, 3, 4), small(4)).but("bool"),
        S(small(4, 1, 2), small(2, 2, 3), small(3), 2).but("bool"),
        S(small(6, 2, 3), small(2, 3, 2), small(2), -1).but("bool"),
        S(small(2, 3, 2), small(3, 2, 4), small(4)).but("bool"),
    ],
    "convolution": [
        S(small(*_LINE), small(4, 3, 3), small(4), [2], [1], [1], False, [0], 1).but("bool"),
        S(small(2, 4, 4, 5), small(4, 2, 3, 3), None, [2, 3], [1, 0], [1, 2], True, [1, 2], 2).but(*WHOLE),
        S(small(*_CUBE), small(4, 1, 2, 2, 2), None, [1], [0], [1], False, [0], 2).but("bool"),
    ],
    "_convolution": [
        S(
            small(*_IMAGE), small(4, 3, 3, 3), None, [1], [1], [1], False, [0], 1, False, False, True, True
        ).but(*WHOLE),
        S(small(*_LINE), small(3, 2, 3), None, [2], [1], [1], True, [0], 1, False, False, True, False).but(
            *WHOLE
        ),
    ],
    "_convolution_deprecated": [
        S(small(*_LINE), small(3, 2, 3), None, [2], [1], [1], True, [0], 1, False, False, True).but(*WHOLE),
    ],
    "_convolution_mode": [S(small(*_IMAGE), small(4, 3, 2, 3), small(4), [1], "same", [2], 1).but(*WHOLE)],
}


def _gradients(size, weight, out, *numbers, batch=2):
    """Samples (grad, other, size) of conv{n}d_input and conv{n}d_weight for one convolution."""
    groups = numbers[3] if len(numbers) > 3 else 1
    image, kernel = (batch, weight[1] * groups, *size), weight
    grad = (batch, weight[0], *out)
    return (
        S(small(*grad), small(*kernel), image, *numbers),
        S(small(*grad), small(*image), kernel, *numbers),
    )


_GRADIENTS = {
    1: [
        _gradients((9,), (4, 3, 3), (7,)),
        _gradients((20,), (6, 2, 4), (11,), 2, 2, 1, 3),
        _gradients((9,), (2, 1, 3), (7,), 1, 1, 2, 2),
    ],
    2: [
        _gradients((7, 6), (4, 3, 3, 3), (5, 4)),
        _gradients((7, 6), (4, 3, 3, 2), (4, 4), (2, 1), (1, 0), (1, 2)),
        _gradients((8, 9), (6, 2, 3, 3), (3, 3), 3, 1, 1, 3),
        _gradients((5, 6), (20, 18, 1, 1), (5, 6)),
        _gradients((6, 7), (5, 3, 1, 1), (3, 4), 2),
        _gradients((4, 4), (3, 2, 2, 2), (9, 9), 1, 3),
        _gradients((7, 6), (4, 3, 3, 3), (5, 4), batch=0),
    ],
    3: [
        _gradients((4, 5, 3), (3, 2, 2, 2, 2), (3, 4, 2)),
        _gradients((5, 6, 4), (4, 1, 3, 2, 3), (3, 3, 4), (2, 2, 1), (1, 0, 1), 1, 2),
    ],
}
# sizes that the tiles of kernels/simd/conv/indirect_gemm.h take: lanes that fill no vector, several blocks,
# planes smaller than a tile, strides, dilation, groups; few channels in a row of the window
_TILES = {
    1: [
        _gradients((13,), (33, 18, 3), (7,), 2, 1),
        _gradients((9,), (40, 17, 3), (9,), 1, 2, 2, 2),
    ],
    2: [
        _gradients((2, 2), (34, 35, 3, 3), (2, 2), 1, 1, batch=5),
        _gradients((4, 5), (48, 16, 3, 2), (2, 3), (2, 2), (1, 1), batch=3),
        _gradients((3, 3), (17, 50, 1, 1), (2, 2), 2),
        _gradients((9, 8), (20, 3, 5, 4), (5, 4), 2, (2, 1)),
        _gradients((6, 6), (64, 16, 2, 2), (4, 4), 1, 0, 2, 2),
        _gradients((1, 1), (16, 33, 1, 1), (1, 1), batch=30),
        _gradients((4, 3), (32, 20, 3, 3), (4, 3), 1, 1, batch=9),
        _gradients((7, 8), (33, 18, 4, 3), (4, 4), 2, 2, (1, 2), batch=5),
    ],
}
# depthwise: vectors of channels, phases of strides, more taps than registers, bands of rows, chunks
_DEPTHWISE = {
    1: [
        _gradients((9,), (17, 1, 3), (5,), 2, 1, 1, 17),
    ],
    2: [
        _gradients((5, 4), (19, 1, 3, 3), (5, 4), 1, 1, 1, 19, batch=3),
        _gradients((6, 7), (16, 1, 5, 3), (3, 2), (2, 3), (2, 0), 1, 16),
        _gradients((7, 8), (9, 1, 3, 2), (2, 6), (3, 1), 0, (1, 2), 9, batch=9),
        _gradients((40, 41), (3, 1, 3, 3), (20, 21), 2, 1, 1, 3, batch=1),
        _gradients((3, 3), (5, 1, 1, 1), (2, 2), 2, 0, 1, 5),
    ],
}
# the convolution as what places send: tiny planes of several images, phases of strides
SAMPLES["conv2d"] += [
    S(small(9, 33, 2, 2), small(40, 33, 3, 3), small(40), 1, 1),
    S(small(8, 32, 5, 4), small(34, 32, 3, 2), small(34), 2, (1, 0)),
    S(small(11, 64, 3, 3), small(64, 32, 2, 2), None, (3, 2), 1, 1, 2),
    S(small(32, 32, 1, 1), small(32, 32, 3, 3), small(32), 1, 2, 2),
]
for _n in (1, 2):
    _GRADIENTS[_n] += _TILES[_n] + _DEPTHWISE[_n]
BACKWARD = {
    **{f"conv{n}d_input": [a for a, _ in pairs] for n, pairs in _GRADIENTS.items()},
    **{f"conv{n}d_weight": [b for _, b in pairs] for n, pairs in _GRADIENTS.items()},
    "conv_bias": [S(x(2, 3, 7, 6), 2), S(x(3, 70), 1), S(x(2, 3, 2, 3, 4), 3), S(x(0, 3, 5), 1)],
}
WIDER = {(op, dtype) for op in ("conv1d", "conv3d") for dtype in ("uint8", "int8", "int16", "int32")}
NARROWER = {
    *((f"conv_transpose{n}d", "int64") for n in (1, 2, 3)),
    *((op, dtype) for op in ("conv2d", "_convolution_mode") for dtype in WHOLE),
    *((op, dtype) for op in ("_convolution", "_convolution_deprecated") for dtype in WHOLE),
    *(("convolution", "int64"), ("conv_tbc", "bool")),
}


# ---- NumPy's side ----
def as_pair(v):
    return v if isinstance(v, tuple) else (v, v)


def window_views(a, kernel, stride, dilation):
    """(..., outH, outW, kH, kW) windows of (..., H, W)."""
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    w = np.lib.stride_tricks.sliding_window_view(a, span, axis=(-2, -1))
    return w[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _conv2d(a, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    stride, dilation, kernel = as_pair(stride), as_pair(dilation), weight.shape[2:]
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel)]
        sides = [(t // 2, t - t // 2) for t in total]
    else:
        sides = [(p, p) for p in as_pair(padding)]
    a = np.pad(a, [(0, 0)] * (a.ndim - 2) + sides)
    views = window_views(a, kernel, stride, dilation)
    per = weight.shape[0] // groups
    outs = []
    for g in range(groups):
        part = views[..., g * weight.shape[1] : (g + 1) * weight.shape[1], :, :, :, :]
        outs.append(np.einsum("...chwij,ocij->...ohw", part, weight[g * per : (g + 1) * per]))
    out = np.concatenate(outs, axis=-3)
    return out if bias is None else out + bias[:, None, None]


def _conv_tbc(a, weight, bias, pad=0):
    if pad:
        a = np.pad(a, [(pad, pad), (0, 0), (0, 0)]) if pad > 0 else a[-pad:pad]
    times = len(a) - len(weight) + 1
    shape = (times, a.shape[1], weight.shape[2])
    return sum((a[i : i + times] @ w for i, w in enumerate(weight)), np.zeros(shape, a.dtype) + bias)


NUMPY = {
    "conv2d": _conv2d,
    "conv_tbc": _conv_tbc,
}


# ---- PyTorch's side ----
def _conv_grad(n, which):
    def find(torch):
        theirs = getattr(torch.nn.grad, f"conv{n}d_{which}")
        if which == "input":
            return lambda grad, weight, size, *numbers: theirs(size, weight, grad, *numbers)
        return lambda grad, image, size, *numbers: theirs(image, size, grad, *numbers)

    return find


def _channel_sum(torch):
    return lambda grad, n: grad.sum([d for d in range(grad.ndim) if d != grad.ndim - n - 1])


def _tbc_of_dense(torch):
    """PyTorch's refuses most layouts."""
    return lambda a, weight, bias, pad=0: torch.conv_tbc(a.contiguous(), weight.contiguous(), bias, pad)


PYTORCH = {
    "conv_tbc": _tbc_of_dense,
    **{f"conv{n}d_{which}": _conv_grad(n, which) for n in (1, 2, 3) for which in ("input", "weight")},
    "conv_bias": _channel_sum,
}
