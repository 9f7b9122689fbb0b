"""Samples: connectionist temporal classification."""

import numpy as np

from op_samples.pytorch import dense_aten
from op_samples.sample import WHOLE, S, but, fixed, index, x

_HALVES = ("float16", "bfloat16")


def _logs(*shape):
    """Log-probabilities, whatever the dtype rounds them to."""
    return x(*shape, low=-3, high=-0.5)


_LENGTHS = index(6, 4), index(3, 2)
_LISTS = [6, 4], [3, 2]
_PADDED, _JOINED = index(1, 2, 2, 3, 1, 1), index(1, 3, 3, 0, 1)
_PADDED.values = _PADDED.values.reshape(2, 3)
_GIVEN = [
    *(S(_logs(6, 2, 4), _PADDED, *_LISTS, 0, n) for n in (0, 1, 2)),
    S(_logs(6, 2, 4), _JOINED, *_LISTS, 2, 1),
    S(_logs(6, 2, 4), _PADDED, [6, 2], [3, 3], 0, 0, True),
    S(_logs(6, 2, 4), _PADDED, [6, 3], [0, 3], 0, 1),
    S(_logs(5, 3), index(1, 2), [5], [2], 0, 0),
]
_TENSORS = [
    *(S(_logs(6, 2, 4), _PADDED, *_LENGTHS, 0, n) for n in (0, 1)),
    S(_logs(6, 2, 4), fixed(_JOINED.values.astype(np.int32)), *_LENGTHS, 2, 2, True),
    S(_logs(5, 3), index(1, 2), fixed(np.int64(5)), fixed(np.int32(2)), 0, 1),
]
SAMPLES = {
    "ctc_loss": but((*WHOLE, *_HALVES), _GIVEN),
    "ctc_loss_tensor": but((*WHOLE, *_HALVES), _TENSORS),
    "_ctc_loss": [
        S(_logs(6, 2, 4), _PADDED, [6, 6], [3, 3]),
        S(_logs(7, 1, 4), index(3, 3, 1), [7], [3], 2),
        S(_logs(3, 2, 2), fixed(np.zeros((2, 0), dtype=np.int64)), [3, 3], [0, 0]),
        S(_logs(40, 3, 9), fixed(np.arange(51).reshape(3, 17) % 8 + 1), [40] * 3, [17] * 3),
    ],
    "_ctc_loss_tensor": but((*WHOLE, *_HALVES), [S(_logs(6, 2, 4), _PADDED, *[index(6, 6), index(3, 3)])]),
}
BACKWARD = {
    "_ctc_loss_backward": [
        S(x(2), _logs(6, 2, 4), _PADDED, *_LISTS, x(2, low=5, high=9), _logs(2, 6, 7), 0),
        S(x(2), _logs(6, 2, 4), _JOINED, *_LISTS, x(2, low=5, high=9), _logs(2, 6, 7), 2, True),
    ],
}


def _loss(logs, targets, times, lengths, blank=0):
    """Sums the probabilities of all alignments, and of those so far, by the textbook's recursion."""
    t, n, _ = logs.shape
    most = max(lengths)
    alpha = np.full((n, t, 2 * most + 1), -np.inf)
    with np.errstate(divide="ignore"):
        for b in range(n):
            at = b if targets.ndim == 2 else slice(sum(lengths[:b]), sum(lengths[: b + 1]))
            labels = [blank]
            for label in np.atleast_1d(targets[at])[: lengths[b]]:
                labels += [label, blank]
            before = np.zeros(len(labels))
            before[:2] = 1
            for step in range(times[b]):
                now = before.copy()
                if step:
                    now[1:] += before[:-1]
                    for s in range(2, len(labels)):
                        now[s] += before[s - 2] * (s % 2 and labels[s] != labels[s - 2])
                before = now * np.exp(logs[step, b, labels])
                alpha[b, step, : len(labels)] = np.log(before)
    ends = np.exp(alpha[np.arange(n), np.array(times) - 1])
    last = 2 * np.array(lengths)
    total = ends[np.arange(n), last] + np.where(last > 0, ends[np.arange(n), last - 1], 0)
    return -np.log(total), alpha


NUMPY = {"_ctc_loss": _loss}
# The gradient is that of what log_softmax() was taken of.
DOMAIN = {name: lambda logs: (logs.log_softmax(-1),) for name in SAMPLES}
# PyTorch reads strided targets as if they were dense, and some gradients.
PYTORCH = {
    **{name: dense_aten(name.removesuffix("_tensor")) for name in SAMPLES},
    "_ctc_loss_backward": dense_aten("_ctc_loss_backward"),
}
