"""Samples and NumPy's answers: elements joined, repeated, turned and padded."""

import numpy as np

from op_samples.sample import BOOL, S, but, index, small, x

_IMAGE, _CUBE = (2, 3, 7, 6), (2, 2, 5, 6, 4)
SAMPLES = {
    "cat": [S([x(2, 3), x(4, 3)]), S([x(2, 3), x(2, 1)], 1), S([x(2, 3)]), S([x(0, 3), x(2, 3)])],
    "stack": [S([x(2, 3), x(2, 3)]), S([x(2, 3), x(2, 3)], 1), S([x(), x()], -1)],
    **{
        op: [S(x(4, 5)), S(x(2, 5, 3), 1), S(x(4, 4), -2), S(x(3, 4), 9), S(x(3, 4), -9), S(x(0, 3))]
        for op in ("tril", "triu")
    },
    "roll": [
        S(x(3, 4), 1),
        S(x(3, 4), -2, 1),
        S(x(3, 4), (1, 5), (0, 1)),
        S(x(2, 3, 4), (1, 1), (-1, -1)),
        S(x(0, 3), 1, 1),
        S(x(), 3),
    ],
    "flip": [S(x(3, 4), (0,)), S(x(2, 3, 4), (0, -1)), S(x(3, 4), ()), S(x(0, 3), (1,))],
    "fliplr": [S(x(3, 4)), S(x(2, 3, 4)), S(x(0, 3))],
    "flipud": [S(x(3, 4)), S(x(5)), S(x(0, 3))],
    "rot90": [S(x(3, 4)), S(x(3, 4), 2), S(x(2, 3, 4), -1, (1, 2)), S(x(2, 3, 4), 3, (0, -1)), S(x(0, 3), 4)],
    "atleast_1d": [S(x()), S(x(3)), S(x(2, 3))],
    "atleast_2d": [S(x()), S(x(3)), S(x(2, 3, 4))],
    "atleast_3d": [S(x()), S(x(3)), S(x(2, 3)), S(x(0, 3))],
    "atleast_1d_each": [S([x(), x(3)])],
    "atleast_2d_each": [S([x(), x(3)])],
    "atleast_3d_each": [S([x(), x(3), x(2, 3)])],
    "hstack": [S([x(3), x(2)]), S([x(2, 3), x(2, 1)]), S([x(), x()])],
    "vstack": [S([x(3), x(3)]), S([x(2, 3), x(3)]), S([x(), x()])],
    "dstack": [S([x(3), x(3)]), S([x(2, 3), x(2, 3, 2)])],
    "column_stack": [S([x(3), x(3)]), S([x(3, 2), x(3)]), S([x(), x()])],
    "diagflat": [S(x(3)), S(x(2, 2), 1), S(x(), -1)],
    "diag_embed": [S(x(3)), S(x(2, 3), 1), S(x(2, 3, 4), -1, 0, 2), S(x(0, 2))],
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
    "diag": [S(x(3, 4)), S(x(3, 4), 1), S(x(4, 3), -2), S(x(3)), S(x(3), 2), S(x(3), -1), S(x(2, 3), 7)],
    "pixel_shuffle": [S(x(8, 3, 2), 2), S(x(2, 9, 2, 5), 3), S(x(2, 4, 0, 3), 2), S(x(3, 2, 2), 1)],
    **{
        op: [S(x(2, 6, 3, 2), 2), S(x(1, 4, 3), 4), S(x(2, 0, 3), 2)]
        for op in ("channel_shuffle", "native_channel_shuffle")
    },
    "pixel_unshuffle": [S(x(2, 3, 4, 6), 2), S(x(1, 6, 3), 3), S(x(0, 2, 4, 6), 2)],
    "constant_pad_nd": [S(x(2, 3), (1, 2)), S(x(2, 3), (1, 0, 0, 2), 1), S(x(2, 5), (-1, -2)), S(x(), ())],
    **{
        f"{how}_pad{n}d": but(
            BOOL,
            [
                S(x(2, *_IMAGE[-n:]), (1, 2, 2, 1, 0, 1)[: 2 * n]),
                S(x(*_IMAGE[-n - 1 :]), 1),
                S(x(*_IMAGE[-n - 1 :]), (-1, 2, 1, -2, 0, 0)[: 2 * n]),
            ],
        )
        for how in ("reflection", "replication")
        for n in (1, 2, 3)
    },
    "_pad_circular": [S(x(*_IMAGE), (1, 2, 3, 1)), S(x(*_IMAGE), (-1, 2, 1, -2))],
    "_pad_enum": [
        S(x(*_IMAGE), (1, 2, 3, 1), 0).but("bool"),
        S(x(*_IMAGE), (1, 2, 3, 1), 2),
        S(x(2, 3), (1, 2), 3, 1.0),
    ],
    "pad_sequence": [
        S([x(3, 2), x(1, 2), x(4, 2)]),
        S([x(3), x(0), x(2)], True, 1.0, "left"),
    ],
    "flatten_dense_tensors": [S([x(2, 3), x(), x(0, 2), x(4)])],
    "unflatten_dense_tensors": [S(x(9), [x(2, 3), x(), x(1)])],
    "pad": [
        S(x(2, 3), (1, 2)),
        S(x(2, 3), (1, 0, 0, 2), "constant", 1.0),
        S(x(2, 5), (-1, -2)),
        S(x(*_IMAGE), (1, 2, 3, 1), "reflect").but("bool"),
        S(x(*_IMAGE), (1, 2, 3, 1), "replicate").but("bool"),
        S(x(*_IMAGE), (1, 2, 3, 1), "circular"),
    ],
}
BACKWARD = {
    "pad_backward": [
        *(S(small(2, 3, 11, 9), _IMAGE, (1, 2, 3, 1), mode) for mode in ("reflect", "replicate", "circular")),
        S(x(3, 12), (3, 9), (2, 1), "reflect"),
        S(x(3, 10), (3, 9), (2, -1), "reflect"),
        S(x(3, 10), (3, 9), (-2, 3), "circular"),
        S(small(2, 3, 11, 9), _IMAGE, (1, 2, 3, 1), "reflect", True),
        S(small(2, 2, 7, 8, 6), _CUBE, (1, 1, 0, 2, 2, 0), "replicate"),
    ],
}
WIDER = {("pad", "bool"), ("constant_pad_nd", "bool")}
NUMPY = {
    "cat": np.concatenate,
    "stack": np.stack,
    "tril": np.tril,
    "triu": np.triu,
    "roll": np.roll,
    "flip": np.flip,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "hstack": np.hstack,
    "vstack": np.vstack,
    "dstack": np.dstack,
    "column_stack": np.column_stack,
    "diagflat": np.diagflat,
    "rot90": lambda a, k=1, dims=(0, 1): np.rot90(a, k, dims),
    "repeat": np.tile,
    "tile": np.tile,
    "repeat_interleave": np.repeat,
    "diag": np.diag,
}


def _pad_back(torch):
    def run(grad, size, pad, mode, channels_last=False):
        source = torch.zeros(size, dtype=grad.dtype).requires_grad_()
        if channels_last:
            source = source.contiguous(memory_format=torch.channels_last)
        with torch.enable_grad():
            result = torch.nn.functional.pad(source, pad, mode)
        return torch.autograd.grad(result, source, grad, create_graph=grad.requires_grad)[0]

    return run


PYTORCH = {
    **{f"atleast_{n}d": lambda torch, n=n: getattr(torch, f"atleast_{n}d") for n in (1, 2, 3)},
    **{
        f"atleast_{n}d_each": lambda torch, n=n: lambda tensors: getattr(torch, f"atleast_{n}d")(*tensors)
        for n in (1, 2, 3)
    },
    "pad_backward": _pad_back,
}
