"""Samples and NumPy's answers: products of matrices and vectors."""

import numpy as np

from op_samples.sample import BOOL, S, but, small, special, x

SAMPLES = {
    "matmul": [
        S(x(3, 4), x(4, 5)),
        S(x(4), x(4)),
        S(x(3, 4), x(4)),
        S(x(4), x(4, 5)),
        S(x(2, 3, 4), x(2, 4, 5)),
        S(x(2, 1, 3, 4), x(5, 4, 2)),
        S(x(0, 4), x(4, 5)),
        S(x(3, 0), x(0, 5)),
        S(x(33, 17, low=-1, high=1), x(17, 40, low=-1, high=1)),
    ],
    "linear": [
        S(x(3, 4), x(5, 4), x(5)),
        S(x(3, 4), x(5, 4)),
        S(x(4), x(5, 4), x(5)),
        S(x(2, 3, 4), x(5, 4), x(5)),
        S(x(0, 4), x(5, 4), x(5)),
        S(x(1, 40, low=-1, high=1), x(17, 40, low=-1, high=1), x(17)),
    ],
    "dot": [S(x(5), x(5)), S(x(0), x(0))],
    "mv": [S(x(3, 4), x(4)), S(x(0, 4), x(4)), S(x(3, 0), x(0))],
    "mm": [S(x(3, 4), x(4, 5)), S(x(0, 4), x(4, 5)), S(x(3, 0), x(0, 5))],
    "bmm": [S(x(2, 3, 4), x(2, 4, 5)), S(x(0, 3, 4), x(0, 4, 5))],
    "addmv": [
        S(x(3), x(3, 4), x(4)),
        S(x(1), x(3, 4), x(4), beta=2, alpha=3),
        S(special(3), x(3, 4), x(4), beta=0),
        S(x(), x(3, 4), x(4), beta=2),
        S(x(3), x(3, 0), x(0), beta=2),
        S(x(0), x(0, 4), x(4)),
    ],
    "addmm": [
        S(x(3, 5), x(3, 4), x(4, 5)),
        S(x(5), x(3, 4), x(4, 5), beta=2, alpha=3),
        S(special(5), x(3, 4), x(4, 5), beta=0),
        S(x(), x(3, 0), x(0, 5)),
    ],
    "baddbmm": [
        S(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5)),
        S(x(3, 1), x(2, 3, 4), x(2, 4, 5), beta=2, alpha=3),
    ],
    "outer": [S(x(3), x(4)), S(x(0), x(4))],
    "ger": [S(x(3), x(4))],
    "addr": [
        S(x(3, 4), x(3), x(4)),
        S(x(4), x(3), x(4), beta=2, alpha=3),
        S(special(3, 4), x(3), x(4), beta=0),
        S(x(), x(0), x(4)),
        S(x(1, 4), x(2), x(4), alpha=0),
    ],
    "addbmm": [
        S(small(3, 5), small(2, 3, 4), small(2, 4, 5)).but("bool"),
        S(small(5), small(2, 3, 4), small(2, 4, 5), beta=2, alpha=3).but("bool"),
        S(special(3, 1), small(2, 3, 4), small(2, 4, 5), beta=0).but("bool"),
    ],
    "vdot": [S(x(5), x(5)), S(x(0), x(0))],
    "einsum": [
        *(
            S(equation, [x(*shape) for shape in shapes]).but("bool")
            for equation, shapes in (
                ("ij,jk->ik", [(3, 4), (4, 5)]),
                ("bij,bjk->bki", [(2, 3, 4), (2, 4, 5)]),
                ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
                ("...ij,kj", [(2, 3, 4), (5, 4)]),
                ("i,i", [(4,), (4,)]),
                ("bn,anm,bm->ba", [(2, 3), (4, 3, 2), (2, 2)]),
                ("iij,j->i", [(2, 2, 3), (3,)]),
            )
        ),
        *(
            S(equation, [x(*shape) for shape in shapes])
            for equation, shapes in (
                ("ij->ji", [(3, 4)]),
                ("ii->i", [(3, 3)]),
                ("i...->...", [(2, 3, 4)]),
                ("ij,kl->jk", [(2, 3), (4, 2)]),
                ("", [()]),
                ("i,j->ij", [(3,), (4,)]),
                ("ij,...->i...j", [(3, 4), (2,)]),
            )
        ),
    ],
    "tensordot": [
        S(x(2, 3, 4), x(4, 3, 5), [2, 1], [0, 1]).but("bool"),
        S(x(3), x(2), [], []).but("bool"),
        S(x(2, 3), x(1, 2), [1], [0]).but("bool"),
        S(x(1, 3), x(2, 4), [0], [0]).but("bool"),
    ],
    "inner": [S(x(2, 3), x(4, 5, 3)).but("bool"), S(x(), x(3))],
    "bilinear": but(
        BOOL,
        [
            S(small(3, 4), small(3, 2), small(5, 4, 2)),
            S(small(2, 3, 4), small(2, 3, 2), small(5, 4, 2), small(5)),
            S(small(4), small(2), small(1, 4, 2)),
        ],
    ),
    "kron": [S(x(2, 3), x(3, 2)), S(x(), x(3)), S(x(0, 2), x(2, 2))],
}


def _linear(a, weight, bias=None):
    out = a @ weight.T
    return out if bias is None else out + bias


def _addmm(a, b, c, beta=1, alpha=1):
    product = alpha * np.matmul(b, c)
    return product + beta * a if beta else product


def _addr(a, b, c, beta=1, alpha=1):
    if a.dtype == bool:
        return np.logical_or(a & bool(beta), np.outer(b, c) & bool(alpha))
    product = alpha * np.outer(b, c)
    return product + beta * a if beta else product


def _addbmm(a, b, c, beta=1, alpha=1):
    product = alpha * np.matmul(b, c).sum(0)
    return np.broadcast_to(product + beta * a if beta else product, product.shape)


def _einsum(equation, operands):
    """Sums of truths count them."""
    return np.einsum(equation, *(o.astype(np.int64) if o.dtype == bool else o for o in operands))


def _tensordot(a, b, dims_a, dims_b):
    """Sizes of 1 stretch, which NumPy's do not."""
    for i, j in zip(dims_a, dims_b, strict=True):
        if a.shape[i] != b.shape[j]:
            a, b = (t.sum(d, keepdims=True) for t, d in ((a, i), (b, j)))
    return np.tensordot(a, b, (dims_a, dims_b))


NUMPY = {
    "matmul": np.matmul,
    "linear": _linear,
    "dot": np.dot,
    "mv": np.matmul,
    "mm": np.matmul,
    "bmm": np.matmul,
    "addmv": _addmm,
    "addmm": _addmm,
    "baddbmm": _addmm,
    "outer": np.outer,
    "ger": np.outer,
    "vdot": np.dot,
    "addr": _addr,
    "addbmm": _addbmm,
    "einsum": _einsum,
    "tensordot": _tensordot,
    "inner": np.inner,
    "bilinear": lambda a, b, w, bias=0: np.einsum("...i,oij,...j->...o", a, w, b) + bias,
    "kron": np.kron,
}
WARNS = {"ger": "torch.ger is deprecated"}
PYTORCH = {
    "einsum": lambda torch: torch._VF.einsum,
    "tensordot": lambda torch: torch._VF.tensordot,
}
