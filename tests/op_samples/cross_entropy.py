"""Samples: cross entropy and negative log likelihood."""

import numpy as np

from op_samples.pytorch import dense_aten
from op_samples.sample import WHOLE, Placeholder, S, but, fixed, number, pos, unit, x


def _classes(shape, n, *values):
    """Target classes; the given ones come first."""
    chosen = np.random.default_rng(n).integers(0, n, shape)
    chosen.flat[: len(values)] = values
    return fixed(chosen)


_WEIGHTS = Placeholder((3,), values=np.array([0.5, 2, 1.25]))


def _total_weight(classes, ignored):
    """What the forward operator gives with _WEIGHTS."""
    return number(_WEIGHTS.values[classes.values[classes.values != ignored]].sum())


_CLASSES = [
    *(S(x(5, 3), _classes(5, 3), None, reduction) for reduction in (0, 1, 2)),
    *(S(x(5, 3), _classes(5, 3, 1, 1), _WEIGHTS, reduction, 1) for reduction in (0, 1, 2)),
    S(x(3), fixed(np.int64(2)), None, 1),
    S(x(0, 3), _classes(0, 3), None, 1),
]
_PLACES = [
    *(S(x(2, 3, 4, 5), _classes((2, 4, 5), 3, -1), _WEIGHTS, reduction, -1) for reduction in (0, 1, 2)),
    S(x(2, 3, 1, 2), _classes((2, 1, 2), 3), None, 1),
]
_MORE = [
    *(S(x(2, 3, 4), _classes((2, 4), 3), None, reduction) for reduction in (0, 1)),
    *(S(x(2, 3, 2, 1, 2), _classes((2, 2, 1, 2), 3, 1), _WEIGHTS, reduction, 1) for reduction in (0, 1)),
    S(x(0, 3, 2), _classes((0, 2), 3), None, 0),
]
_PROBABILITIES = [
    *(S(x(5, 3), unit(5, 3), None, reduction) for reduction in (0, 1, 2)),
    *(S(x(2, 3, 4), unit(2, 3, 4), pos(3), reduction, label_smoothing=0.25) for reduction in (0, 1, 2)),
    S(x(3), unit(3), pos(3), 1),
    S(x(0, 3), unit(0, 3), None, 1),
]
_SMOOTHED = [
    *(S(x(5, 3), _classes(5, 3, 1), None, reduction, 1, label_smoothing=0.25) for reduction in (0, 1, 2)),
    *(S(x(2, 3, 4), _classes((2, 4), 3, 1), _WEIGHTS, n, 1, label_smoothing=0.25) for n in (0, 1, 2)),
    S(x(3), fixed(np.int64(2)), _WEIGHTS, 1, label_smoothing=0.5),
]
SAMPLES = {
    "cross_entropy_loss": but(WHOLE, _CLASSES + _PLACES + _MORE + _PROBABILITIES + _SMOOTHED),
    "nll_loss_nd": but(WHOLE, _CLASSES + _PLACES + _MORE),
    "nll_loss": but(WHOLE, _CLASSES),
    "nll_loss2d": but(WHOLE, _PLACES),
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
}
NARROWER = {(op, dtype) for op in ("nll_loss_forward", "nll_loss2d_forward") for dtype in WHOLE}
PYTORCH = {op: dense_aten(op) for op in (*SAMPLES, *BACKWARD)}
