"""Losses. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them."""

import warnings

from rushlight._C import _nn
from rushlight.functional import broadcast_tensors

from .. import _reduction


def _reduction_of(size_average, reduce, reduction):
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    return _reduction.get_enum(reduction)


# ---- numbers ----
def _compared(input, target, size_average, reduce, reduction):
    """Both tensors in one shape, and the number of the reduction; warns where the shapes were not equal."""
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
    number = _reduction_of(size_average, reduce, reduction)
    if input.shape != target.shape:
        input, target = broadcast_tensors(input, target)
    return input, target, number


def _weighted(errors, weight, number):
    if weight.shape != errors.shape:
        raise ValueError("Weights and input must have the same size.")
    errors = weight * errors
    if number == 1:
        return errors.sum() / weight.sum()
    return errors.sum() if number == 2 else errors


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Squared difference of input and target, of equal shapes (else a warning, and both are broadcast).

    ``weight``, of the input's shape, scales the elements, and the mean is weighted.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.mse_loss.html
    """
    input, target, number = _compared(input, target, size_average, reduce, reduction)
    if weight is None:
        return _nn.mse_loss(input, target, number)
    return _weighted(_nn.mse_loss(input, target, 0), weight, number)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute difference of input and target, of equal shapes (else a warning, and both are broadcast).

    ``weight``, of the input's shape, scales the elements, and the mean is weighted.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.l1_loss.html
    """
    input, target, number = _compared(input, target, size_average, reduce, reduction)
    errors = (input - target).abs()
    if weight is not None:
        return _weighted(errors, weight, number)
    return (errors, errors.mean, errors.sum)[number]() if number else errors
