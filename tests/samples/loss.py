"""Samples: losses."""

import numpy as np

from samples.pytorch import dense_aten
from samples.sample import WHOLE, Placeholder, S, fixed, number, pos, x


def _classes(shape, n, *values):
    """Target classes; the given ones come first."""
    chosen = np.random.default_rng(n).integers(0, n, shape)
    chosen.flat[: len(values)] = values
    return fixed(chosen)


_WEIGHTS = Placeholder((3,), values=np.array([0.5, 2, 1.25]))


def _total_weight(classes, ignored):
    """What the forward operator gives with _WEIGHTS."""
    return number(_WEIGHTS.values[classes.values[classes.values != ignored]].sum())


_DIFFERENCES = [(x(2, 3), x(2, 3)), (x(70, 65), x(70, 65)), (x(2, 1), x(3)), (x(), x())]
SAMPLES = {
    "nll_loss_forward": [
        *(S(x(5, 3), _classes(5, 3), None, reduction, -100) for reduction in (0, 1, 2)),
        *(S(x(5, 3), _classes(5, 3, 1, 1), pos(3), reduction, 1) for reduction in (0, 1, 2)),
        S(x(3), fixed(np.int64(2)), None, 1, -100),
        S(x(3), fixed(np.array([2])), pos(3), 0, -100),
        S(x(2, 3), _classes(2, 3, 1, 1), None, 1, 1),
        S(x(0, 3), _classes(0, 3), None, 1, -100),
    ],
    "nll_loss2d_forward": [
        *(S(x(2, 3, 4, 5), _classes((2, 4, 5), 3, -1), pos(3), reduction, -1) for reduction in (0, 1, 2)),
        S(x(2, 3, 1, 2), _classes((2, 1, 2), 3), None, 1, -100),
    ],
    "mse_loss": [*(S(a, b, n) for a, b in _DIFFERENCES for n in (0, 1, 2)), S(x(0, 3), x(0, 3), 1)],
}
BACKWARD = {
    "nll_loss_backward": [
        S(x(5), x(5, 3), _classes(5, 3, -1), pos(3), 0, -1, pos()),
        S(x(), x(5, 3), _classes(5, 3), None, 1, -100, number(5)),
        S(x(), x(5, 3), _classes(5, 3, 1), _WEIGHTS, 1, 1, _total_weight(_classes(5, 3, 1), 1)),
        S(x(), x(5, 3), _classes(5, 3), pos(3), 2, -100, pos()),
        S(x(), x(3), fixed(np.int64(2)), None, 1, -100, number(1)),
    ],
    "nll_loss2d_backward": [
        S(x(2, 4, 5), x(2, 3, 4, 5), _classes((2, 4, 5), 3, -1), pos(3), 0, -1, pos()),
        S(x(), x(2, 3, 4, 5), _classes((2, 4, 5), 3), None, 1, -100, number(40)),
        S(x(), x(2, 3, 4, 5), _classes((2, 4, 5), 3), pos(3), 2, -100, pos()),
    ],
    "mse_loss_backward": [
        *(S(x(), a, b, n) for a, b in _DIFFERENCES if a.shape == b.shape for n in (1, 2)),
        S(x(2, 3), x(2, 3), x(2, 3), 0),
        S(x(0, 3), x(0, 3), x(0, 3), 0),
    ],
}
NARROWER = {(op, dtype) for op in SAMPLES for dtype in WHOLE}
PYTORCH = {op: dense_aten(op) for op in (*SAMPLES, *BACKWARD)}
