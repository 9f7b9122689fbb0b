"""Tensors, arrays and numbers as arrays of NumPy."""

import numpy as np

from rushlight import _C


def make_np(x):
    """Return an array of a tensor, an array or a number; bfloat16 becomes float16.

    Raises NotImplementedError for anything else.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if not isinstance(x, _C.Tensor):
        raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
    if x.is_meta:  # nobody knows its numbers
        return np.random.randn(1)
    x = x.detach().cpu()
    return (x.to(_C.float16) if x.dtype is _C.bfloat16 else x).numpy()
