"""Calls of recurrent nets, attention, bags of rows and grids at each size, for op_table.py."""

import numpy as np

from op_cases import call, laid
from op_samples.sample import fixed, x

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


# ---- recurrent nets: the volume is (batch, steps, features) ----
def _weights(gates, width):
    shapes = [(gates * width, width)] * 2 + [(gates * width,)] * 2
    return [x(*shape, low=-0.1, high=0.1) for shape in shapes]


def _state(kind, *shape):
    return [x(*shape, low=-1, high=1) for _ in range(2)] if kind == "lstm" else x(*shape, low=-1, high=1)


def _layer(kind):
    def cases(s):
        batch, steps, width = s.volume
        made = []
        for variant, shape, first in (
            ("steps first", (steps, batch, width), False),
            ("batch first", s.volume, True),
        ):
            rest = (
                _state(kind, 1, batch, width),
                _weights(_GATES[kind], width),
                True,
                1,
                0.0,
                False,
                False,
                first,
            )
            flops = 4 * batch * steps * width * width * _GATES[kind]
            made.append(call(variant, x(*shape), *rest, flops=flops))
        return made

    return cases


def _falling(s):
    """Lengths of sequences, the longest first, and how many of them are left at each step."""
    batch, steps, _ = s.volume
    lengths = np.linspace(steps, steps // 2, batch).astype(np.int64)
    return lengths, np.array([(lengths > t).sum() for t in range(steps)])


def _packed(kind):
    def cases(s):
        batch, _, width = s.volume
        _, sizes = _falling(s)
        rows = int(sizes.sum())
        state, weights = _state(kind, 1, batch, width), _weights(_GATES[kind], width)
        flops = 4 * rows * width * width * _GATES[kind]
        return [
            call(
                "falling",
                x(rows, width),
                fixed(sizes),
                state,
                weights,
                True,
                1,
                0.0,
                False,
                False,
                flops=flops,
            )
        ]

    return cases


def _cell(kind):
    def cases(s):
        batch, _, width = s.volume
        weights = _weights(_GATES[kind], width)
        flops = 4 * batch * width * width * _GATES[kind]
        return [call("batch", x(batch, width), _state(kind, batch, width), *weights, flops=flops)]

    return cases


def _pack(s):
    batch, steps, width = s.volume
    lengths = fixed(_falling(s)[0])
    return [
        call("steps first", x(steps, batch, width), lengths, False),
        call("batch first", x(*s.volume), lengths, True),
    ]


def _pad(s):
    _, steps, width = s.volume
    sizes = _falling(s)[1]
    rows = x(int(sizes.sum()), width)
    return [
        call(variant, rows, fixed(sizes), first, 0.0, steps)
        for variant, first in (("steps first", False), ("batch first", True))
    ]


# ---- attention: the volume is (batch, rows, features of two heads) ----
def _attention(s):
    batch, rows, width = s.volume
    qkv, flops = [x(batch, 2, rows, width // 2)] * 3, 4 * batch * rows * rows * width
    return [call("self", *qkv, flops=flops), call("causal", *qkv, is_causal=True, flops=flops // 2)]


# ---- bags: each of eight rows ----
def _bags(*padding):
    def cases(s):
        rows, width = s.rows
        index = fixed(np.random.default_rng(3).integers(0, 1000, rows))
        offsets = fixed(np.arange(0, rows, 8))
        return [
            call(variant, x(1000, width), index, offsets, False, mode, False, None, False, *padding)
            for mode, variant in enumerate(("sum", "mean", "max"))
        ]

    return cases


# ---- grids: as many places as the picture has ----
def _places(*sides):
    return x(*sides, len(sides) - 1, low=-1.1, high=1.1)


def _sampler_2d(s):
    grid = _places(s.image[0], *s.image[2:])
    made = [
        call(v, x(*s.image), grid, mode, 0, False)
        for mode, v in enumerate(("bilinear", "nearest", "bicubic"))
    ]
    return [*made, call("channels_last", laid(s.image, "channels_last"), grid, 0, 0, False)]


def _sampler_3d(s):
    batch, channels, height, width = s.image
    shape = (batch, channels // 4, 4, height, width)
    return [call("trilinear", x(*shape), _places(batch, *shape[2:]), 0, 0, False)]


NETS = {
    **{kind: _layer(kind) for kind in _GATES},
    **{f"{kind}_packed": _packed(kind) for kind in _GATES},
    **{f"{kind}_cell": _cell(kind) for kind in _GATES},
    "_pack_padded_sequence": _pack,
    "_pad_packed_sequence": _pad,
    **{op: _attention for op in ("scaled_dot_product_attention", "_scaled_dot_product_attention_math")},
    "flash_attention": _attention,
    "embedding_bag": _bags(),
    "embedding_bag_padded": _bags(1),
    "embedding_bag_recorded": _bags(-1),
    "grid_sampler": lambda s: _sampler_2d(s)[:1],
    "grid_sampler_2d": _sampler_2d,
    "grid_sampler_3d": _sampler_3d,
}
