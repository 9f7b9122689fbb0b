"""How many entries a pruning method takes, and which."""

import numbers

import rushlight

from . import _norms


def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if isinstance(amount, numbers.Integral):
        good = amount >= 0
    else:
        good = 0.0 <= float(amount) <= 1.0
    if not good:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount, tensor_size) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _count_to_prune(amount, size):
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


def _validate_structured_pruning(t) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to "
            f"multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t, n, dim):
    """The norm of each slice along ``dim``; n is a number, "fro" or "nuc"."""
    dims = [d for d in range(t.dim()) if d != dim % t.dim()]
    if n == "nuc":
        import numpy as np

        return rushlight.from_numpy(np.linalg.norm(t.detach().numpy(), "nuc", axis=tuple(dims)))
    return _norms.vector_norm(t, 2.0 if n == "fro" else float(n), dims)


def _largest(values, count):
    """Where the largest values stand; of equal ones the first."""
    return (-values.detach()).argsort(stable=True)[:count]


def _zero_largest(default_mask, scores, count):
    mask = default_mask.detach().reshape(-1).clone()
    mask[_largest(scores.reshape(-1), count)] = 0
    return mask.reshape(default_mask.shape)


def _keep_slices(t, dim, index, default_mask):
    """A mask of ones in the slices that an index, of numbers or of booleans, chooses along ``dim``."""
    mask = rushlight.zeros_like(t.detach())
    where = [slice(None)] * t.dim()
    where[dim] = index
    mask[tuple(where)] = 1
    return mask * default_mask.to(dtype=t.dtype)
