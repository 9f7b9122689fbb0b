"""Calls of factorisations at each size, for op_table.py: one matrix, and many small ones."""

import numpy as np

from op_cases import call
from op_samples.sample import Placeholder, fixed, x
from op_table_layers import side

_MOST = 400  # rows: larger ones take seconds


def _given(array):
    return Placeholder(array.shape, values=array)


def _values(*shape):
    return np.random.default_rng(shape[-1]).uniform(-1, 1, shape)


def _far(*shape):
    """From singular."""
    return _values(*shape) + 2 * np.sqrt(shape[-1]) * np.eye(shape[-1])


def _positive(*shape):
    a = _values(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def _triangle(*shape):
    return np.tril(_values(*shape)) / shape[-1] + np.eye(shape[-1])


def _symmetric(*shape):
    a = _values(*shape)
    return a + np.swapaxes(a, -1, -2)


def _on(make, *rest, **named):
    """The matrix alone, or before others that the size gives."""

    def cases(s):
        n = side(s)
        shapes = [("square", (n, n))] if n < _MOST else []
        shapes += [("many", (n * n // 64, 8, 8))] if n < _MOST else []
        others = [(what, shape, [r(shape) for r in rest]) for what, shape in shapes]
        return [call(what, _given(make(*shape)), *more, **named) for what, shape, more in others]

    return cases


def _second(make, *rest, **named):
    """Right-hand sides, then the matrix."""

    def cases(s):
        found = _on(make)(s)
        shapes = [c.sample.args[0].shape for c in found]
        made = zip(found, shapes)
        return [call(c.variant, x(*n), c.sample.args[0], *(r(n) for r in rest), **named) for c, n in made]

    return cases


def _right(shape):
    return x(*shape)


def _vector(shape):
    return _given(_values(*shape[:-1]))


def _pivots(shape):
    return fixed(np.broadcast_to(np.arange(1, shape[-1] + 1), shape[:-1]).astype(np.int32))


LINALG = {
    **dict.fromkeys(("linalg_inv", "inverse", "linalg_inv_ex", "linalg_det", "det"), _on(_far)),
    **dict.fromkeys(("linalg_slogdet", "slogdet", "logdet", "linalg_eig", "linalg_eigvals"), _on(_far)),
    **dict.fromkeys(("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "_lu_with_info"), _on(_far)),
    **dict.fromkeys(("linalg_cholesky", "linalg_cholesky_ex", "_cholesky", "cholesky"), _on(_positive)),
    **dict.fromkeys(("linalg_eigh", "linalg_eigvalsh"), _on(_symmetric)),
    **dict.fromkeys(("linalg_ldl_factor", "linalg_ldl_factor_ex"), _on(_symmetric)),
    **dict.fromkeys(("linalg_qr", "qr", "geqrf", "linalg_svd", "linalg_svdvals", "svd"), _on(_values)),
    **dict.fromkeys(("linalg_matrix_exp", "matrix_exp", "pinverse"), _on(_values)),
    "_linalg_pinv": _on(_values, lambda shape: None, lambda shape: None),
    "cholesky_inverse": _on(_triangle),
    "cholesky_solve": _second(_triangle, lambda shape: False),
    **dict.fromkeys(("_triangular_solve", "triangular_solve"), _second(_triangle, lambda shape: False)),
    **dict.fromkeys(("linalg_solve", "linalg_solve_ex", "linalg_lstsq"), _on(_far, _right)),
    "linalg_solve_triangular": _on(_triangle, _right, upper=False),
    "linalg_lu_solve": _on(_far, _pivots, _right),
    "linalg_ldl_solve": _on(_triangle, _pivots, _right),
    "lu_solve": _second(_far, _pivots),
    "lu_unpack": _on(_far, _pivots),
    **dict.fromkeys(("linalg_householder_product", "orgqr"), _on(_values, _vector)),
    "ormqr": _on(_values, _vector, _right),
    **dict.fromkeys(("matrix_power", "linalg_matrix_power"), _on(_values, lambda shape: 3)),
    "linalg_cross": lambda s: [call("rows", x(s.line[0] // 3, 3), x(s.line[0] // 3, 3))],
    "cross": lambda s: [call("rows", x(s.line[0] // 3, 3), x(s.line[0] // 3, 3), -1)],
}
