"""What distributions are made of: numbers to tensors, logits to probabilities, values made once."""

from functools import update_wrapper

import rushlight
from rushlight import _missing
from rushlight.nn import functional as F

euler_constant = 0.57721566490153286060
_SINGLE = rushlight.Size()  # the shape of one sample, of a scalar event, of no batch

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]
__getattr__ = _missing.module_getattr(__name__)


def _is_tensor_like(value):
    return hasattr(type(value), "__torch_function__")


def broadcast_all(*values):
    """Broadcast tensors and numbers against each other; numbers take the first tensor's dtype and device.

    Numbers alone become 0-dim tensors of the default dtype. Raises ValueError for anything else.
    """
    tensors = [_is_tensor_like(value) for value in values]
    if not all(known or isinstance(value, (int, float)) for known, value in zip(tensors, values)):
        raise ValueError(
            "Input arguments must all be instances of Number, "
            "torch.Tensor or objects implementing __torch_function__."
        )
    if not all(tensors):
        first = next((value for value in values if isinstance(value, rushlight.Tensor)), None)
        if first is None:
            like = {"dtype": rushlight.get_default_dtype()}
        else:
            like = {"dtype": first.dtype, "device": first.device}
        values = [v if known else rushlight.tensor(v, **like) for known, v in zip(tensors, values)]
    return rushlight.broadcast_tensors(*values)


def _standard_normal(shape, dtype, device):
    return rushlight.empty(shape, dtype=dtype, device=device).normal_()


def _uniform(shape, like):
    """Return uniform numbers on [0, 1) with the dtype and device of a tensor."""
    return rushlight.rand(shape, dtype=like.dtype, device=like.device)


def _sum_rightmost(value, dim):
    """Sum over the last ``dim`` dims."""
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1) if dim else value


def logits_to_probs(logits, is_binary=False):
    """Probabilities from log odds (binary), or from unnormalised log probabilities along the last dim."""
    return rushlight.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Keep probabilities a rounding error away from 0 and 1."""
    eps = rushlight.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log odds (binary) or log probabilities, finite ones for 0 and 1 too."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:  # noqa: N801
    """An attribute that a method computes when it is first asked for, with gradients; then a plain one."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with rushlight.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):  # noqa: N801
    """What a class answers for a lazy_property: documentation sees a property in it."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def _lower(n, diag, device):
    """Return the mask of an n x n matrix's elements on and below a diagonal."""
    column = rushlight.arange(n, device=device)
    return column <= column.view(-1, 1) + diag


def tril_matrix_to_vec(mat, diag=0):
    """Take the elements of square matrices on and below a diagonal, row after row, as vectors."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """Make square matrices whose elements on and below a diagonal are those of vectors, row after row."""
    # n (n + 1) / 2 elements and n for each further diagonal: the positive root of that for n
    linear = 1 + 2 * diag
    root = (linear**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5
    exact = (root - linear) / 2
    n = round(exact)
    if n - exact > rushlight.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _lower(n, diag, vec.device)] = vec
    return mat


def _negative_log_likelihood(logits, value):
    """Return -log of the probability that log odds give to 0, 1, and what lies in between."""
    return (1 - value) * logits - F.logsigmoid(logits)
