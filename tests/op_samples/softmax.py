"""Samples and NumPy's answers: softmax and its logarithm."""

import numpy as np

from op_samples.sample import WHOLE, Placeholder, S, unit, x

_BACKWARD = [
    S(x(2, 3, 4), unit(2, 3, 4), 1),
    S(x(2, 3), unit(2, 3), -1),
    S(x(3, 70), unit(3, 70), 1),
    S(x(5), unit(5), 0),
    S(x(0, 3), unit(0, 3), 1),
    S(x(), unit(), 0),
]
SAMPLES = {
    "softmax": [S(x(2, 3, 4), 1), S(x(2, 3), -1), S(x(5), 0), S(x(0, 3), 1)],
    "log_softmax": [S(x(2, 3, 4), 1), S(x(2, 3), -1), S(x(5), 0), S(x(0, 3), 1)],
}
_HOLES = Placeholder((), values=np.where(np.arange(24).reshape(2, 3, 4) < 8, -np.inf, 1.5))
SAMPLES["_safe_softmax"] = [*SAMPLES["softmax"], *(S(_HOLES, dim).but(*WHOLE) for dim in (0, 1, 2))]
BACKWARD = {
    "softmax_backward": _BACKWARD,
    "log_softmax_backward": _BACKWARD,
}


def _softmax(a, dim):
    e = np.exp(a - a.max(axis=dim, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=dim, keepdims=True)


def _safe_softmax(a, dim):
    with np.errstate(invalid="ignore"):
        return np.where((a == -np.inf).all(axis=dim, keepdims=True), 0, _softmax(a, dim))


NUMPY = {
    "_safe_softmax": _safe_softmax,
    "softmax": _softmax,
    "log_softmax": lambda a, dim: np.log(_softmax(a, dim)),
}


def _of_dtype(name):
    return lambda torch: lambda grad, out, dim: getattr(torch.ops.aten, name)(grad, out, dim, out.dtype)


PYTORCH = {
    "softmax_backward": _of_dtype("_softmax_backward_data"),
    "log_softmax_backward": _of_dtype("_log_softmax_backward_data"),
}
