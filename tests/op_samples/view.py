"""Samples and NumPy's answers: other views of the same elements."""

import math

import numpy as np

from op_samples.sample import BOOL, DTYPES, WHOLE, S, but, fixed, index, unit, x

# elements of another size than float64's; those must lie side by side: tests/tensor/test_storages.py
SMALLER = tuple(dtype for dtype in DTYPES if dtype not in ("int64", "float64"))
SAMPLES = {
    "view": [
        S(x(2, 3, 4), (6, 4)),
        S(x(2, 3, 4), (-1,)),
        S(x(2, 3, 4), (2, -1)),
        S(x(0, 3), (3, 0)),
        S(x(), (1, 1)),
    ],
    "view_dtype": [S(x(2, 3), float).but(*SMALLER), S(x(), int).but(*SMALLER)],
    "reshape": [S(x(2, 3, 4), (6, 4)), S(x(2, 3, 4), (-1,)), S(x(0, 3), (3, 0))],
    "flatten": [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), 0, 1), S(x())],
    "unflatten": [S(x(2, 6), 1, (2, 3)), S(x(6, 2), 0, (3, -1)), S(x(2, 6), -1, (1, 6, 1))],
    "contiguous": [S(x(2, 3)), S(x())],
    "permute": [S(x(2, 3, 4), (2, 0, 1)), S(x(2, 3, 4), (-1, 0, 1)), S(x(), ())],
    "transpose": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1), S(x(0, 3), 0, 1)],
    "t": [S(x(2, 3)), S(x(3)), S(x())],
    "swapaxes": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1)],
    "swapdims": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1)],
    "movedim": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), (0, 1), (-1, 0)), S(x(), 0, 0)],
    "moveaxis": [S(x(2, 3, 4), 2, 0)],
    "squeeze": [S(x(2, 1, 3, 1)), S(x(1)), S(x())],
    "squeeze_dim": [S(x(2, 1, 3, 1), 1), S(x(2, 3), 0)],
    "squeeze_dims": [S(x(2, 1, 3, 1), (1, -1)), S(x(2, 3), (0,))],
    "unsqueeze": [S(x(2, 3), 0), S(x(2, 3), -1), S(x(), 0)],
    "expand": [S(x(2, 1), (2, 3)), S(x(3), (2, 3)), S(x(2, 1), (-1, 4)), S(x(), (2,))],
    "select": [S(x(2, 3, 4), 1, 2), S(x(2, 3), 0, -1)],
    "narrow": [S(x(5, 3), 0, 1, 3), S(x(5, 3), 1, 0, 0), S(x(5, 3), -1, -2, 1)],
    "slice": [S(x(5, 3), 0, 1, 4), S(x(5, 3), 0, None, None, 2), S(x(5, 3), 1, -2), S(x(5, 3), 0, 4, 1)],
    "chunk": [S(x(7, 3), 3), S(x(6, 3), 2, 1), S(x(2, 3), 5)],
    "split": [S(x(7, 3), 3), S(x(7, 3), (2, 5)), S(x(2, 6), 4, 1)],
    "unbind": [S(x(3, 2)), S(x(2, 3), 1)],
    "diagonal": [
        S(x(3, 4)),
        S(x(3, 4), 1),
        S(x(3, 4), -2),
        S(x(2, 3, 4), 0, -1, 0),
        S(x(3, 4), 9),
        S(x(2, 3, 4), -1, 1, 2),
    ],
    "alias": [S(x(2, 3)), S(x()), S(x(0, 3))],
    "adjoint": [S(x(2, 3)), S(x(2, 3, 4)), S(x()), S(x(0, 3))],
    "ravel": [S(x(2, 3, 4)), S(x()), S(x(0, 3))],
    "broadcast_to": [S(x(2, 1), (2, 3)), S(x(3), (2, 3)), S(x(), (2,))],
    "sum_to_size": [S(unit(2, 3), (1, 3)), S(unit(2, 3), (3,)), S(unit(2, 3), (2, 3)), S(unit(2, 3), ())],
    "trace": but(BOOL, [S(x(3, 3)), S(x(2, 4)), S(x(0, 3))]),
    "tensor_split": [S(x(7), 3), S(x(2, 5), 2, 1), S(x(2, 3), 4), S(x(0, 3), 2)],
    "tensor_split_indices": [S(x(7), (1, 3)), S(x(2, 5), (4, 1, -1), 1), S(x(2, 3), ())],
    "tensor_split_tensor": [S(x(7), index(1, 3)), S(x(7), fixed(np.int64(3)))],
    "hsplit": [S(x(6), 3), S(x(2, 4, 3), 2)],
    "hsplit_indices": [S(x(6), (1, 3)), S(x(2, 4, 3), (1,))],
    "vsplit": [S(x(4, 3), 2)],
    "vsplit_indices": [S(x(4, 3), (1, 2))],
    "dsplit": [S(x(2, 3, 4), 2)],
    "dsplit_indices": [S(x(2, 3, 4), (1, 2))],
    "split_with_sizes": [S(x(7, 3), (2, 5)), S(x(2, 6), (0, 6), 1)],
    "unsafe_split": [S(x(7, 3), 3), S(x(2, 6), 4, 1)],
    "unsafe_split_with_sizes": [S(x(7, 3), (2, 5))],
    "unsafe_chunk": [S(x(7, 3), 3)],
    "narrow_tensor": [S(x(5, 3), 0, fixed(np.int64(1)), 3), S(x(5, 3), -1, fixed(np.int32(-2)), 1)],
    "unfold": [S(x(7), 0, 3, 2), S(x(2, 5, 3), 1, 2, 1), S(x(2, 3), -1, 0, 4), S(x(), 0, 1, 1)],
    "as_strided": [S(x(12), (3, 2), (4, 1)), S(x(12), (3, 3), (1, 2), 1), S(x(12), (2,), (0,))],
    "as_strided_back": [
        S(x(3, 2), (12,), (3, 2), (4, 1), 1),
        S(x(2, 3), (3, 3), (2, 3), (1, 1), 2),
        S(x(0, 3), (2, 2), (0, 3), (1, 1), 0),
        S(x(), (2,), (), (), 1),
    ],
}
NARROWER = {("as_strided_back", dtype) for dtype in WHOLE}


# ---- NumPy's side ----
def _split(a, size, dim=0):
    ends = np.cumsum(size)[:-1] if isinstance(size, tuple) else range(size, a.shape[dim], size)
    return np.split(a, ends, dim)


def _chunk(a, n, dim=0):
    return _split(a, -(-a.shape[dim] // n), dim)


def _narrow(a, dim, start, length):
    return np.take(a, range(start, start + length), axis=dim)


def _slice(a, dim=0, start=None, end=None, step=1):
    where = [slice(None)] * a.ndim
    where[dim] = slice(start, end, step)
    return a[tuple(where)]


def _expand(a, size):
    lead = len(size) - a.ndim
    return np.broadcast_to(a, [*size[:lead], *(max(s, n) for s, n in zip(size[lead:], a.shape))])


def _flatten(a, first=0, last=-1):
    if not a.ndim:
        return a.reshape(1)
    return a.reshape(*a.shape[:first], -1, *a.shape[last % a.ndim + 1 :])


def _windows(a, dim, size, step):
    if not a.ndim:
        return a.reshape(1)
    starts = range(0, a.shape[dim] - size + 1, step)
    return np.stack([np.moveaxis(_narrow(a, dim, start, size), dim, -1) for start in starts], dim % a.ndim)


def _of_places(a, size, stride, offset=0):
    return np.lib.stride_tricks.as_strided(a[offset:], size, [s * a.itemsize for s in stride])


NUMPY = {
    "swapdims": np.swapaxes,
    **dict.fromkeys(("movedim", "moveaxis"), lambda a, *dims: np.moveaxis(a, *dims) if a.ndim else a),
    "squeeze_dim": lambda a, dim: np.squeeze(a, dim) if a.shape[dim] == 1 else a,
    "squeeze_dims": lambda a, dims: np.squeeze(a, tuple(d for d in dims if a.shape[d] == 1)),
    "expand": _expand,
    "narrow": _narrow,
    "narrow_tensor": _narrow,
    "slice": _slice,
    "flatten": _flatten,
    "unflatten": lambda a, dim, sizes: a.reshape(
        *a.shape[: dim % a.ndim], *sizes, *a.shape[dim % a.ndim + 1 :]
    ),
    **dict.fromkeys(("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes"), _split),
    "unsafe_chunk": _chunk,
    "adjoint": lambda a: np.swapaxes(a, -1, -2) if a.ndim else a,
    "sum_to_size": lambda a, size: a.sum(
        tuple(d for d in range(-a.ndim, 0) if d < -len(size) or size[d] != a.shape[d]), keepdims=True
    ).reshape(size),
    "unfold": _windows,
    "as_strided": _of_places,
    "tensor_split_indices": lambda a, indices, dim=0: np.split(a, np.asarray(indices, int), dim),
    **{f"{axis}split_indices": getattr(np, f"{axis}split") for axis in "hvd"},
    "view": np.reshape,
    "reshape": np.reshape,
    "contiguous": lambda a: a,
    "permute": np.transpose,
    "transpose": np.swapaxes,
    "t": np.transpose,
    "swapaxes": np.swapaxes,
    "squeeze": np.squeeze,
    "unsqueeze": np.expand_dims,
    "select": lambda a, dim, i: np.take(a, i, axis=dim),
    "chunk": _chunk,
    "unbind": lambda a, dim=0: [np.take(a, i, axis=dim) for i in range(a.shape[dim])],
    "diagonal": np.diagonal,
    "alias": np.copy,
    "ravel": np.ravel,
    "broadcast_to": np.broadcast_to,
    "trace": np.trace,
    "tensor_split": np.array_split,
    "hsplit": np.hsplit,
    "vsplit": np.vsplit,
    "dsplit": np.dsplit,
}


def _scattered(torch, a, whole, size, stride, offset):
    """The gradient of as_strided(), which is linear."""
    numel = math.prod(whole)
    where = torch.arange(numel).as_strided(size, stride, offset)
    flat = torch.zeros(numel, dtype=a.dtype).index_put((where.reshape(-1),), a.reshape(-1), accumulate=True)
    return flat.reshape(whole)


WARNS = {"adjoint": "adjoint() is deprecated on 0-D tensors"}
PYTORCH = {
    "slice": lambda torch: torch.ops.aten.slice.Tensor,
    "alias": lambda torch: torch.ops.aten.alias,
    "as_strided_back": lambda torch: (
        lambda a, whole, size, stride, offset: _scattered(torch, a, whole, size, stride, offset)
    ),
}
