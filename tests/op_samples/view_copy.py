"""Samples and NumPy's answers: what views show, as copies."""

import numpy as np

from op_samples.sample import S, x
from op_samples.view import NUMPY as VIEWED
from op_samples.view import SMALLER

SAMPLES = {
    "alias_copy": [S(x(2, 3)), S(x()), S(x(0, 3))],
    "as_strided_copy": [S(x(12), (3, 2), (4, 1)), S(x(12), (3, 3), (1, 2), 1)],
    "detach_copy": [S(x(2, 3)), S(x())],
    "diagonal_copy": [S(x(3, 4)), S(x(2, 3, 4), 0, -1, 0)],
    "expand_copy": [S(x(2, 1), (2, 3)), S(x(), (2,))],
    "narrow_copy": [S(x(5, 3), 0, 1, 3)],
    "permute_copy": [S(x(2, 3, 4), (2, 0, 1))],
    "select_copy": [S(x(2, 3, 4), 1, 2)],
    "slice_copy": [S(x(5, 3), 0, 1, 4), S(x(5, 3), 0, None, None, 2)],
    "split_copy": [S(x(7, 3), 3)],
    "split_with_sizes_copy": [S(x(7, 3), (2, 5))],
    "squeeze_copy": [S(x(2, 1, 3, 1))],
    "squeeze_copy_dim": [S(x(2, 1, 3, 1), 1)],
    "squeeze_copy_dims": [S(x(2, 1, 3, 1), (1, -1))],
    "t_copy": [S(x(2, 3))],
    "transpose_copy": [S(x(2, 3, 4), 0, 2)],
    "unbind_copy": [S(x(3, 2)), S(x(2, 3), 1)],
    "unfold_copy": [S(x(7), 0, 3, 2)],
    "unsqueeze_copy": [S(x(2, 3), 0)],
    "view_copy": [S(x(2, 3, 4), (6, 4))],
    "view_copy_dtype": [S(x(2, 3), float).but(*SMALLER), S(x(), int).but(*SMALLER)],
}
NUMPY = {f"{name}_copy": answer for name, answer in VIEWED.items() if f"{name}_copy" in SAMPLES}
NUMPY |= {
    "detach_copy": np.copy,
    **{f"squeeze_copy_{dims}": VIEWED[f"squeeze_{dims}"] for dims in ("dim", "dims")},
}
