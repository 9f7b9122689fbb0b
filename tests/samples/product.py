"""Samples and NumPy's answers: products of matrices and vectors."""

import numpy as np

from samples.sample import S, special, x

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
}


def _linear(a, weight, bias=None):
    out = a @ weight.T
    return out if bias is None else out + bias


def _addmm(a, b, c, beta=1, alpha=1):
    product = alpha * np.matmul(b, c)
    return product + beta * a if beta else product


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
}
