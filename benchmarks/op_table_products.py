"""Calls of products by an equation and of distances, as op_table.py has them."""

from op_cases import call
from op_samples.sample import x
from op_table_layers import side


def _einsum(s):
    n = side(s)
    heads, rows = (2, 8), max(n // 8, 8)
    return [
        call("ij,jk->ik", "ij,jk->ik", [x(n, n), x(n, n)]),
        call("bij,bjk->bik", "bij,bjk->bik", [x(8, n // 2, 32), x(8, 32, n // 2)]),
        call("bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", [x(*heads, rows, 64), x(*heads, rows, 64)]),
        call("ii->", "ii->", [x(n, n)]),
        call("ij->ji", "ij->ji", [x(n, n)]),
        call("i,j->ij", "i,j->ij", [x(n), x(n)]),
    ]


def _tensordot(s):
    n = side(s)
    return [call("two dimensions", x(n, 8, 16), x(8, 16, n), [1, 2], [0, 1])]


def _cdist(s):
    n = side(s)
    return [call(f"order {p:g}", x(n, 64), x(n, 64), p) for p in (2.0, 1.0, float("inf"))]


PRODUCTS = {
    "einsum": _einsum,
    "tensordot": _tensordot,
    "inner": lambda s: [call("rows", x(side(s), 64), x(side(s), 64))],
    "kron": lambda s: [call("blocks", x(8, 8), x(side(s) // 8, side(s) // 8))],
    "addr": lambda s: [call("square", x(side(s), side(s)), x(side(s)), x(side(s)))],
    "addbmm": lambda s: [call("batch", x(side(s), side(s)), x(8, side(s), 16), x(8, 16, side(s)))],
    "vdot": lambda s: [call("line", x(*s.line), x(*s.line))],
    "cdist": _cdist,
    "_cdist_forward": lambda s: [call("rows", x(side(s), 64), x(side(s), 64), 1.0, None)],
    "_euclidean_dist": lambda s: [call("rows", x(side(s), 64), x(side(s), 64))],
    "pdist": lambda s: [call("rows", x(side(s), 64))],
    "_pdist_forward": lambda s: [call("rows", x(side(s), 64))],
}
