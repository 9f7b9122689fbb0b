"""Samples and NumPy's answers: sliding blocks."""

import numpy as np

from op_samples.sample import S, x

_IMAGE = (2, 3, 6, 5)
SAMPLES = {
    "im2col": [
        S(x(*_IMAGE), 2, 1, 0, 1),
        S(x(3, 6, 5), (3, 2), (1, 2), (1, 0), (2, 1)),
        S(x(*_IMAGE), 1, 1, 2, 3),
        S(x(0, 3, 6, 5), 2, 1, 0, 1),
    ],
    "col2im": [
        S(x(2, 12, 20), (6, 5), 2, 1, 0, 1),
        S(x(18, 9), (6, 5), (3, 2), (1, 2), (1, 0), (2, 1)),
        S(x(2, 3, 12), (6, 5), 1, 1, 2, 3),
        S(x(0, 12, 20), (6, 5), 2, 1, 0, 1),
    ],
}


# ---- NumPy's side ----
def _pair(numbers):
    return (numbers, numbers) if isinstance(numbers, int) else tuple(numbers)


def _blocks(shape, kernel, dilation, padding, stride):
    """Where the elements of all blocks stand in a padded plane: (rows, columns), each (kernel, blocks)."""
    at = []
    for size, k, d, p, s in zip(shape, *map(_pair, (kernel, dilation, padding, stride))):
        many = (size + 2 * p - d * (k - 1) - 1) // s + 1
        at.append(np.arange(k)[:, None] * d + np.arange(many) * s)
    rows, columns = at
    both = np.broadcast_arrays(rows[:, None, :, None], columns[None, :, None, :])
    return [one.reshape(-1, rows.shape[1] * columns.shape[1]) for one in both]


def _im2col(a, *numbers):
    pad = _pair(numbers[2])
    rows, columns = _blocks(a.shape[-2:], *numbers)
    a = np.pad(a, [(0, 0)] * (a.ndim - 2) + [(p, p) for p in pad])
    return a[..., rows, columns].reshape(*a.shape[:-3], a.shape[-3] * rows.shape[0], rows.shape[1])


def _col2im(a, size, *numbers):
    pad = _pair(numbers[2])
    rows, columns = _blocks(size, *numbers)
    blocks = a.reshape(*a.shape[:-2], a.shape[-2] // rows.shape[0], *rows.shape)
    image = np.zeros((*blocks.shape[:-2], size[0] + 2 * pad[0], size[1] + 2 * pad[1]), a.dtype)
    np.add.at(image, (..., rows, columns), blocks)
    return image[..., pad[0] : pad[0] + size[0], pad[1] : pad[1] + size[1]]


NUMPY = {"im2col": _im2col, "col2im": _col2im}
