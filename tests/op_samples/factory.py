"""Samples and NumPy's answers: new tensors, filling and copying."""

import numpy as np

from op_samples.sample import S, fixed, x

SAMPLES = {
    "empty": [S((2, 3)), S((0, 3)), S(())],
    "zeros": [S((2, 3)), S((0, 3)), S(())],
    "ones": [S((2, 3)), S((0, 3)), S(())],
    "full": [S((2, 3), 2), S((2, 3), 1.0), S((0, 3), 1), S((), True)],
    "empty_like": [S(x(2, 3))],
    "zeros_like": [S(x(2, 3)), S(x())],
    "ones_like": [S(x(2, 3)), S(x(0, 3))],
    "full_like": [S(x(2, 3), 2)],
    "arange": [S(5), S(0), S(2.5)],
    "arange_start": [S(1, 7), S(1, 7, 2), S(7, 1, -2), S(0.5, 2, 0.5).but("int64")],
    "linspace": [S(0, 1, 5), S(3, -3, 7), S(0, 1, 1), S(0, 1, 0)],
    "logspace": [S(0, 2, 5), S(1, 3, 3, 2.0), S(0, 1, 1), S(0, 1, 0)],
    "range": [S(1, 4), S(4, 1, -1), S(0, 0)],
    "tril_indices": [S(3, 4), S(3, 4, 1), S(4, 3, -2), S(3, 4, -9), S(0, 3), S(5, 2)],
    "triu_indices": [S(3, 4), S(3, 4, 1), S(4, 3, -2), S(3, 4, 9), S(0, 3), S(5, 2)],
    "fill": [S(x(2, 3), 2), S(x(2, 3), fixed(np.int64(3))), S(x(0, 3), 1), S(x(), 1)],
    "eye": [S(3), S(2, 4), S(0)],
    "fill_": [S(x(2, 3), 2), S(x(2, 3), fixed(np.int64(3))), S(x(0, 3), 1), S(x(), 1)],
    "copy_": [
        S(x(2, 3), x(2, 3)),
        S(x(2, 3), x(3)),
        S(x(2, 3), fixed(np.arange(6).reshape(2, 3))),
        S(x(0, 3), x(1)),
    ],
    "copy_number": [S(x(2, 3), 2), S(x(), 1)],
    "clone": [S(x(2, 3)), S(x()), S(x(0, 3))],
    "to_copy": [S(x(2, 3, 4)), S(x(0, 3)), S(x())],
}
FACTORIES = {"empty", "zeros", "ones", "full", "arange", "arange_start", "linspace", "eye"} | {
    *("logspace", "range", "tril_indices", "triu_indices")
}
UNINITIALISED = {"empty", "empty_like"}
NUMPY = {
    "zeros": np.zeros,
    "ones": np.ones,
    "full": np.full,
    "range": lambda start, end, step=1: np.arange(start, end + step / 2, step),
    "eye": np.eye,
    "tril_indices": lambda rows, cols, offset=0: np.stack(np.tril_indices(rows, offset, cols)),
    "triu_indices": lambda rows, cols, offset=0: np.stack(np.triu_indices(rows, offset, cols)),
    **dict.fromkeys(("fill", "fill_", "copy_number"), lambda a, value: np.full_like(a, value)),
    "to_copy": lambda a: a,
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "full_like": np.full_like,
    "copy_": lambda a, b: np.broadcast_to(b, a.shape).astype(a.dtype),
    "clone": lambda a: a,
}
PYTORCH = {
    "range": lambda torch: torch.range,
    "to_copy": lambda torch: torch.ops.aten._to_copy,
}
