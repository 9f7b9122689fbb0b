"""Samples: losses."""

from samples.pytorch import dense_aten
from samples.sample import WHOLE, S, x

_DIFFERENCES = [(x(2, 3), x(2, 3)), (x(70, 65), x(70, 65)), (x(2, 1), x(3)), (x(), x())]
SAMPLES = {
    "mse_loss": [*(S(a, b, n) for a, b in _DIFFERENCES for n in (0, 1, 2)), S(x(0, 3), x(0, 3), 1)],
}
BACKWARD = {
    "mse_loss_backward": [
        *(S(x(), a, b, n) for a, b in _DIFFERENCES if a.shape == b.shape for n in (1, 2)),
        S(x(2, 3), x(2, 3), x(2, 3), 0),
        S(x(0, 3), x(0, 3), x(0, 3), 0),
    ],
}
NARROWER = {(op, dtype) for op in SAMPLES for dtype in WHOLE}
PYTORCH = {op: dense_aten(op) for op in (*SAMPLES, *BACKWARD)}
