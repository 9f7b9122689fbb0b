"""Samples and NumPy's answers: rows of a table in bags."""

import numpy as np

from op_samples.pytorch import dense_aten
from op_samples.sample import WHOLE, S, fixed, index, x

_LIST, _OFFSETS = (1, 4, 1, 0, 2, 2, 4), (0, 3, 3, 5)
_SUM, _MEAN, _MAX = range(3)


def _calls(*padding):
    """embedding_bag() by every mode, with what else it takes; `padding`: the argument that one name has."""
    lists = (index(*_LIST), index(*_OFFSETS))
    narrow = tuple(fixed(np.array(v, dtype=np.int32)) for v in (_LIST, _OFFSETS))
    ends = (index(*_LIST), index(0, 2, 2, 7))
    calls = [
        *(S(x(5, 3), *lists, False, mode, False, None, False, *padding) for mode in (_SUM, _MEAN, _MAX)),
        *(S(x(5, 21), *lists, True, mode, False, None, False, *padding) for mode in (_SUM, _MEAN)),
        *(S(x(5, 3), *ends, False, mode, False, None, True, *padding) for mode in (_MEAN, _MAX)),
        S(x(5, 80), *narrow, False, _SUM, False, x(7), False, *padding),
        S(x(5, 3), *lists, True, _SUM, False, x(7), False, *padding),
        S(x(5, 3), index(), index(0, 0), False, _MAX, False, None, False, *padding),
        S(x(5, 0), *lists, False, _MEAN, False, None, False, *padding),
    ]
    return [call.but(*WHOLE) for call in calls]


SAMPLES = {
    "embedding_bag": _calls(),
    "embedding_bag_padded": [*_calls(1), *_calls(-5)[:3], *_calls(None)[:3]],
    "embedding_bag_recorded": [*_calls(-1), *_calls(2)],
}


# ---- NumPy's side ----
def _joined(table, rows, mode, weights):
    """The rows joined, and which was the largest in each column."""
    if not len(rows):
        return np.zeros(table.shape[1]), np.zeros(table.shape[1])
    if mode == _MAX:
        return table[rows].max(0), rows[np.argmax(table[rows], axis=0)]
    scaled = table[rows] * weights[:, None]
    return (scaled.sum(0) if mode == _SUM else scaled.mean(0)), None


def _bags(table, rows, offsets, freq, mode, sparse, weights, last, padding=None):
    """(result, bag of each index, size of each bag, largest rows)"""
    bounds = offsets if last else np.append(offsets, len(rows))
    weights = np.ones(len(rows)) if weights is None else weights
    padding = padding + len(table) if padding is not None and padding < 0 else padding
    joined, sizes = [], []
    for begin, end in zip(bounds, bounds[1:]):
        keep = np.arange(begin, end)[rows[begin:end] != padding]
        joined.append(_joined(table, rows[keep], mode, weights[keep]))
        sizes.append(0 if mode == _SUM else len(keep))
    bag_of = np.repeat(np.arange(len(sizes)), np.diff(bounds))
    return [
        np.array([result for result, _ in joined]),
        bag_of,
        np.array(sizes),
        np.array([most for _, most in joined] if mode == _MAX else sizes),
    ]


def _recorded(*args):
    return _bags(*args[:-1], None if args[-1] < 0 else args[-1])


NUMPY = {"embedding_bag": _bags, "embedding_bag_padded": _bags, "embedding_bag_recorded": _recorded}
# PyTorch answers with the bags of the indices, and with sizes, only where its gradient needs them
CANONICAL = {name: lambda library, results: results[0] for name in SAMPLES}
PYTORCH = {"embedding_bag_recorded": dense_aten("_embedding_bag")}
