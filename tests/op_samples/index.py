"""Samples and NumPy's answers: elements read and written at indices."""

import math

import numpy as np

from op_samples.pytorch import dense_aten
from op_samples.sample import WHOLE, S, fixed, index, mask, nz, special, unit, x


def _ints(values):
    return fixed(np.array(values))


_SQUARE = [[0, 1], [2, 1]]
_SCATTERED = [
    (x(3, 4), 0, _ints(_SQUARE), x(3, 2)),
    (x(3, 4), 1, _ints([[3, 1, 0], [0, 2, 3]]), x(2, 3)),
    (x(2, 3, 4), -1, _ints([[[3], [1]]]), x(1, 2, 3)),
    (x(5), 0, index(4, 0, 2), x(4)),
    (x(3, 4), 0, fixed(np.zeros((0, 4), dtype=np.int64)), x(2, 4)),
    (x(3, 4), 0, fixed(np.array(_SQUARE, dtype=np.int32)), x(3, 4)),
    (x(), 0, index(0), x(1)),
]
_DOUBLED = [(x(3, 4), 0, _ints([[0, 1], [0, 1], [2, 1]]), x(3, 2)), (x(5), 0, index(1, 1, 1, 4), x(4))]
_NUMBERED = [(a, dim, i, 1) for a, dim, i, _ in _SCATTERED]
_SLICED = [
    (x(3, 4), 0, index(2, 0), x(2, 4)),
    (x(3, 4), 1, index(3), x(3, 1)),
    (x(2, 3, 4), -2, index(1, 2), x(2, 2, 4)),
    (x(5), 0, index(), x(0)),
    (x(), 0, index(0), x()),
]
SAMPLES = {
    "index": [
        S(x(3, 4), [index(2, 0, -1)]),
        S(x(2, 3, 4), [None, _ints(_SQUARE)]),
        S(x(2, 3, 4), [_ints([[0], [1]]), None, index(3, 0)]),
        S(x(2, 3, 4), [None, _ints([[0], [1]]), index(3, 0)]),
        S(x(2, 3, 4), [fixed(np.array([1, 0], dtype=np.int32)), index(2, -3), index(0, 3)]),
        S(x(3, 4), [mask(3, 4)]),
        S(x(2, 3, 4), [None, mask(3), index(1)]),
        S(x(2, 3, 4), [mask(2, 3)]),
        S(x(3, 4), [index()]),
        S(x(0, 3), [mask(0)]),
    ],
    "index_put": [
        S(x(3, 4), [index(2, 0)], x(2, 4)),
        S(x(3, 4), [index(2, 0)], x()),
        S(x(3, 4), [None, _ints([[1, 0], [2, 3]])], x(2, 2)),
        S(x(2, 3, 4), [index(0, 1), None, index(3, 0)], x(2, 3)),
        S(x(2, 3, 4), [mask(2, 3)], x(1, 4)),
        S(x(3, 4), [mask(3, 4)], x()),
        S(x(3, 4), [index(2, 0, 2)], x(3, 4), True),
        S(x(3, 4), [index(1, 1), index(2, 2)], x(2), True),
        S(x(3, 4), [index()], x(0, 4)),
    ],
    "index_select": [S(x(4, 3), 0, index(2, 0, 2)), S(x(4, 3), 1, index(1)), S(x(4, 3), 0, index())],
    "index_add": [S(*args) for args in _SLICED]
    + [S(x(3, 4), 0, index(1, 1), x(2, 4)), S(x(3, 4), 0, index(2, 1), x(2, 4), alpha=2)],
    "index_copy": [S(*args) for args in _SLICED],
    "index_fill": [S(a, dim, i, x()) for a, dim, i, _ in _SLICED] + [S(x(3, 4), 0, index(-1), x())],
    "index_fill_number": [S(a, dim, i, 1) for a, dim, i, _ in _SLICED] + [S(x(3, 4), 0, index(-1), 1)],
    "index_reduce": [
        S(*args, how, include_self=self).but(
            *(["bool"] if how == "mean" or not self or not args[0].shape else [])
        )
        for args in (
            (x(3, 4), 0, index(1, 1), nz(2, 4)),
            (x(2, 3, 4), -2, index(2, 0, 2), nz(2, 3, 4)),
            (x(3, 4), 1, index(3), nz(3, 1)),
            (x(), 0, index(0), nz()),
        )
        for how in ("prod", "mean", "amax", "amin")
        for self in (True, False)
    ],
    "gather": [
        S(x(3, 4), 1, fixed(np.array([[0, 3], [1, 1], [2, 0]]))),
        S(x(3, 4), 0, fixed(np.array([[0, 2, 1], [1, 1, 2]], dtype=np.int32))),
        S(x(2, 3, 4), -1, fixed(np.array([[[3], [0]]]))),
        S(x(5), 0, index(4, 4, 0)),
        S(x(), 0, index(0)),
        S(x(3, 4), 1, index()),
    ],
    "scatter": [S(*args) for args in _SCATTERED],
    "scatter_join": [S(*args, reduce="add") for args in _DOUBLED]
    + [S(*args, reduce="multiply") for args in _DOUBLED],
    "scatter_number": [S(*args) for args in _NUMBERED],
    "scatter_number_join": [S(*args, reduce=how) for args in _NUMBERED for how in ("add", "multiply")],
    "scatter_add": [S(*args) for args in _SCATTERED + _DOUBLED],
    "scatter_reduce": [
        S(*args, how, include_self=self).but(*(["bool"] if how == "mean" else []))
        for args in _DOUBLED + _SCATTERED[4:5]
        for how in ("sum", "prod", "mean", "amax", "amin")
        for self in (True, False)
    ],
    "masked_fill": [S(x(2, 3), mask(2, 3), 1), S(x(2, 3), mask(3), 2), S(x(0, 3), mask(0, 3), 1)],
    "masked_scatter": [
        S(x(3, 4), mask(3, 4), x(12)),
        S(x(3, 4), mask(4), x(3, 5)),
        S(x(4), mask(3, 4), x(12)),
        S(x(0, 3), mask(3), x(0)),
    ],
    "masked_select": [S(x(3, 4), mask(3, 4)), S(x(3, 4), mask(4)), S(x(4), mask(3, 4)), S(x(0, 3), mask(3))],
    "nonzero": [
        S(x(3, 4)),
        S(unit(5)),
        S(x()),
        S(x(0, 3)),
        S(special(40)),
    ],
    "nonzero_tuple": [S(x(2, 3, 2), as_tuple=True), S(x(), as_tuple=True), S(x(3, 4), as_tuple=False)],
    "argwhere": [S(x(3, 4)), S(x()), S(x(0, 3)), S(special(40))],
    "nonzero_static": [
        S(x(3, 4), size=5),
        S(x(3, 4), size=20, fill_value=7),
        S(x(2, 3, 2), size=0),
        S(x(), size=2),
        S(x(0, 3), size=2),
    ],
    "where_condition": [S(x(3, 4)), S(x()), S(x(0, 3))],
    "select_scatter": [
        S(x(3, 4), x(4), 0, 1),
        S(x(2, 3, 4), x(2, 4), -2, -1),
        S(x(3), x(), 0, 2),
        S(x(2, 0), x(0), 0, 1),
    ],
    "slice_scatter": [
        S(x(3, 4), x(2, 4), 0, 1),
        S(x(3, 4), x(3, 2), 1, 0, 4, 2),
        S(x(2, 3, 4), x(2, 1, 4), -2, start=-1),
        S(x(3, 4), x(0, 4), 0, 3),
        S(x(3, 4), x(1, 4), 0, 1, step=2**62),
        S(x(3, 4), x(3, 4)),
    ],
    "diagonal_scatter": [
        S(x(3, 4), x(3)),
        S(x(3, 4), x(3), 1),
        S(x(2, 3, 4), x(3, 2), -1, 2, 0),
        S(x(3, 4), x(0), 4),
    ],
    "as_strided_scatter": [
        S(x(3, 4), x(2, 2), (2, 2), (1, 2)),
        S(x(3, 4), x(2, 3), (2, 3), (4, 1), 1),
        S(x(3, 4), x(), (), (), 5),
        S(x(3, 4), x(0), (0,), (1,)),
    ],
    "fill_diagonal_": [
        S(x(3, 4), 2),
        S(x(7, 3), 2, wrap=True),
        S(x(7, 3), 2),
        S(x(3, 3, 3), 1),
        S(x(0, 3), 1),
    ],
    "embedding_renorm_": [
        S(x(5, 3), index(1, 4, 1), 1.0, 2.0),
        S(x(5, 3), fixed(np.array([[0, 1], [3, 2]], dtype=np.int32)), 2.0, 1.0),
        S(x(5, 3), index(0, 2), 1.5, math.inf),
        S(x(5, 3), index(), 1.0, 2.0),
    ],
    "take": [S(x(3, 4), index(0, 5, -1, 5)), S(x(3, 4), _ints(_SQUARE)), S(x(), index(0)), S(x(0), index())],
    "take_along_dim": [
        S(x(3, 4), _ints([[0], [3], [-1]]), 1),
        S(x(3, 4), _ints([[2, 1, 0, 0]]), 0),
        S(x(3, 1), _ints([[0, 2], [2, 1]]), 0),
        S(x(5), index(0, 4, 2)),
    ],
    "put": [
        S(x(3, 4), index(0, 5, -1), x(3)),
        S(x(3, 4), _ints(_SQUARE[:1]), x(2)),
        S(x(3, 4), index(2, 2), x(2, 1), True),
        S(x(0), index(), x(0)),
    ],
    "one_hot": [
        S(index(2, 0, 1, 2)),
        S(fixed(np.array([[0, 1], [3, 2]])), 5),
        S(fixed(np.int64(2))),
        S(index(), 3),
    ],
    "embedding": [
        S(x(5, 3), index(1, 4, 1)),
        S(x(5, 3), fixed(np.array([[0, 1], [3, 2]], dtype=np.int32))),
        S(x(5, 3), fixed(np.int64(2)), 2),
        S(x(5, 3), index()),
    ],
}
BACKWARD = {
    "embedding_dense_backward": [
        S(x(3, 4), index(1, 4, 1), 5, -1, False),
        S(x(2, 2, 3), fixed(np.array([[0, 1], [3, 1]], dtype=np.int32)), 4, 1, False),
        S(x(4, 3), index(2, 0, 2, 2), 3, -1, True),
        S(x(0, 3), index(), 3, -1, False),
    ],
}


# ---- NumPy's side ----
def _key(indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _index_put(a, indices, values, accumulate=False):
    a = a.copy()
    if accumulate:
        np.add.at(a, _key(indices), values)
    else:
        a[_key(indices)] = values
    return a


def _along(write):
    """NumPy's answer for operators that take (a, dim, vector of indices, source)."""

    def answer(a, dim, i, source, **kwargs):
        a = np.atleast_1d(a.copy())
        moved = np.moveaxis(a, dim, 0)
        if np.ndim(source):
            source = np.moveaxis(source, dim, 0)
        write(moved, i, source, **kwargs)
        return a

    return lambda a, *args, **kwargs: answer(a, *args, **kwargs).reshape(a.shape)


def _set(a, i, source):
    a[i] = source


def _scatter(join):
    def answer(a, dim, i, source, *args, **kwargs):
        shape, a, i = a.shape, np.atleast_1d(a.copy()), np.atleast_1d(i)
        for at in np.ndindex(i.shape):
            to = list(at)
            to[dim] = i[at]
            a[tuple(to)] = join(a[tuple(to)], np.atleast_1d(source)[at] if np.ndim(source) else source)
        return a.reshape(shape)

    return answer


def _joined(a, dim, i, source, reduce):
    return _scatter(np.add if reduce == "add" else np.multiply)(a, dim, i, source)


def _put(a, i, source, accumulate=False):
    return _index_put(a.reshape(-1), [i.reshape(-1)], source.reshape(-1), accumulate).reshape(a.shape)


def _masked_scatter(a, m, source):
    a, m = np.broadcast_arrays(a, m)
    a = a.copy()
    a[m] = source.reshape(-1)[: m.sum()]
    return a


def _take_along_dim(a, i, dim=None):
    if dim is None:
        return np.take(a, i.reshape(-1))
    shape = list(np.broadcast_shapes(*[s[:dim] + (1,) + s[dim + 1 :] for s in (a.shape, i.shape)]))
    shape[dim] = a.shape[dim]
    a = np.broadcast_to(a, shape)
    shape[dim] = i.shape[dim]
    return np.take_along_axis(a, np.broadcast_to(i, shape), dim)


def _index_reduce(a, dim, i, source, how, include_self=True):
    whole = np.moveaxis(np.atleast_1d(a.copy()), dim, 0)
    source = np.moveaxis(np.atleast_1d(source), dim, 0)
    join = {"prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[how]
    for at in np.unique(i):
        parts = [source[i == at]] + [whole[at : at + 1]] * include_self
        joined = join(np.concatenate(parts), axis=0)
        whole[at] = joined if np.issubdtype(a.dtype, np.floating) else np.floor(joined)
    return np.moveaxis(whole, 0, dim).reshape(a.shape)


def _nonzero_static(a, size, fill_value=-1):
    rows = np.full((size, a.ndim), fill_value)
    found = np.argwhere(a)[:size]
    rows[: len(found)] = found
    return rows


def _with_part(part):
    """NumPy's answer for a part's place taken by src; `part` finds it in an array."""

    def answer(a, src, *args, **kwargs):
        a = np.ascontiguousarray(a).copy()
        part(a, *args, **kwargs)[...] = src
        return a

    return answer


def _diagonal(a, offset=0, dim1=0, dim2=1):
    line = np.diagonal(a, offset, dim1, dim2)
    line.flags.writeable = True
    return line


def _slice(a, dim=0, start=None, end=None, step=1):
    return np.moveaxis(np.moveaxis(a, dim, 0)[start:end:step], 0, dim)


def _fill_diagonal(a, value, wrap=False):
    a = a.copy()
    if a.size:
        np.fill_diagonal(a, value, wrap)
    return a


def _renorm(a, rows, most, p):
    norm = np.linalg.norm(a, p, axis=1, keepdims=True)
    scaled = np.where(norm > most, a * (most / (norm + 1e-7)), a)
    return np.where(np.isin(np.arange(len(a)), rows)[:, None], scaled, a)


NUMPY = {
    "index_reduce": _index_reduce,
    "argwhere": np.argwhere,
    "nonzero_static": _nonzero_static,
    "where_condition": lambda a: np.nonzero(np.atleast_1d(a)),
    "select_scatter": _with_part(lambda a, dim, i: np.moveaxis(a, dim, 0)[i, ...]),
    "slice_scatter": _with_part(_slice),
    "diagonal_scatter": _with_part(_diagonal),
    "fill_diagonal_": _fill_diagonal,
    "embedding_renorm_": _renorm,
    "index": lambda a, indices: a[_key(indices)],
    "index_put": _index_put,
    "index_select": lambda a, dim, i: np.take(a, i, axis=dim),
    "index_add": _along(lambda a, i, source, alpha=1: np.add.at(a, i, (alpha * source).astype(a.dtype))),
    "index_copy": _along(_set),
    "index_fill": _along(_set),
    "index_fill_number": _along(_set),
    "scatter": _scatter(lambda old, new: new),
    "scatter_join": _joined,
    "scatter_number": _scatter(lambda old, new: new),
    "scatter_number_join": _joined,
    "scatter_add": _scatter(np.add),
    "masked_fill": lambda a, m, value: np.where(m, a.dtype.type(value), a),
    "masked_scatter": _masked_scatter,
    "masked_select": lambda a, m: np.broadcast_to(a, np.broadcast_shapes(a.shape, m.shape))[
        np.broadcast_to(m, np.broadcast_shapes(a.shape, m.shape))
    ],
    "nonzero": np.argwhere,
    "nonzero_tuple": lambda a, as_tuple: np.nonzero(np.atleast_1d(a)) if as_tuple else np.argwhere(a),
    "take": np.take,
    "take_along_dim": _take_along_dim,
    "put": _put,
    "one_hot": lambda i, n=-1: np.eye(n if n > 0 else i.max() + 1, dtype=np.int64)[i],
    "embedding": lambda a, i, padding_idx=-1: a[i],
}
NARROWER = {("embedding_renorm_", dtype) for dtype in WHOLE}  # there they fail in the norm of a row
PYTORCH = {
    "index": lambda torch: torch.ops.aten.index.Tensor,
    "index_put": lambda torch: torch.ops.aten.index_put,
    "embedding_dense_backward": dense_aten("embedding_dense_backward"),
}
