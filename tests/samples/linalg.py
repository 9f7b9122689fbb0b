"""Samples and NumPy's answers: norms of vectors and factorisations."""

import math

import numpy as np

from samples.sample import WHOLE, Placeholder, S, nz, special, x

SAMPLES = {
    "linalg_qr": [
        s.but(*WHOLE, "float16", "bfloat16")
        for s in (
            *(S(x(5, 3)), S(x(3, 5)), S(x(4, 4)), S(x(2, 4, 3)), S(x(5, 3), "complete"), S(x(4, 3), "r")),
            *(
                S(x(3, 0), "complete"),
                S(x(0, 3)),
                S(Placeholder((3, 3), values=np.diag([1.0, -2.0, 3.0]), kinks=True)),
            ),
        )
    ],
    **{
        name: [
            s.but(*WHOLE)
            for s in (
                *(S(x(2, 3, 4)), S(x(2, 3, 4), 1, 1), S(x(2, 3, 4), 2, (0, 2)), S(x(70, 65), 2, 0)),
                *(S(x(2, 3, 4), 3, -1, True), S(x(2, 3, 4), 0, 1), S(x(2, 3, 4), math.inf, 1)),
                *(S(x(2, 3, 4), -math.inf, 1), S(nz(2, 3), -1.5, 1), S(x(70, 65), 2.5), S(x(0, 3), 2)),
                *(S(x(0, 3), math.inf, 1), S(x(), 2), S(special(30), 2), S(special(30), math.inf)),
            )
        ]
        for name in ("linalg_vector_norm", "norm")
    },
    "norm_text": [s.but(*WHOLE) for s in (S(x(2, 3), "fro"), S(x(2, 3), "fro", 1, True))],
}


def _norm(a, p=2, dim=None, keepdim=False):
    a, axis = abs(a), dim
    if math.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdim)
    if p == 0:
        return (a != 0).sum(axis=axis, keepdims=keepdim).astype(float)
    return (a**p).sum(axis=axis, keepdims=keepdim) ** (1 / p)


NUMPY = {
    "linalg_vector_norm": _norm,
    "norm": _norm,
}
PYTORCH = {
    "linalg_vector_norm": lambda torch: torch.linalg.vector_norm,
    "linalg_qr": lambda torch: torch.linalg.qr,
}
