"""Losses. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them."""

import math
import warnings

from rushlight import _C
from rushlight._C import _nn
from rushlight.functional import broadcast_tensors

from .. import _reduction


def _reduction_of(size_average, reduce, reduction):
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    return _reduction.get_enum(reduction)


# ---- classes ----
def _nll_loss(input, target, weight, reduction, ignore_index):
    """As nll_loss(), of any number of dimensions, with the reduction as a number."""
    if weight is not None and weight.requires_grad and _C.is_grad_enabled():
        raise RuntimeError(
            "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'. "
            "This input cannot have requires_grad True."
        )
    dims = input.dim()
    if dims < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {dims})")
    if dims != 1 and input.size(0) != target.size(0):
        raise ValueError(
            f"Expected input batch_size ({input.size(0)}) to match target batch_size ({target.size(0)})."
        )
    if dims <= 2:
        return _nn.nll_loss_forward(input, target, weight, reduction, ignore_index)[0]
    if dims == 4:
        return _nn.nll_loss2d_forward(input, target, weight, reduction, ignore_index)[0]
    batch, classes, *rest = input.shape
    if list(target.shape[1:]) != rest:
        raise RuntimeError(f"Expected target size {[batch, *rest]}, got {list(target.shape)}")
    flat = math.prod(rest)
    input, target = input.reshape(batch, classes, 1, flat), target.reshape(batch, 1, flat)
    loss = _nn.nll_loss2d_forward(input, target, weight, reduction, ignore_index)[0]
    return loss.view(batch, *rest) if reduction == 0 else loss


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log likelihood: minus input (N, C, ...) at the class that target (N, ...), int64, names.

    ``weight`` (C) scales classes, and the mean is weighted; elements of class ``ignore_index`` do not count.
    Raises IndexError where a class is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.nll_loss.html
    """
    return _nll_loss(input, target, weight, _reduction_of(size_average, reduce, reduction), ignore_index)


def _per_class(weight, input, dim):
    """The weights of classes, so that they multiply an input of that class dimension."""
    return weight.view([-1 if d == dim else 1 for d in range(input.dim())]) if input.dim() > 1 else weight


def _smoothed(logs, target, weight, reduction, ignore_index, smoothing, dim):
    """Cross entropy towards the class mixed with the uniform distribution (Szegedy et al., 2015)."""
    loss = _nll_loss(logs, target, weight, reduction, ignore_index)
    uniform = -(logs if weight is None else logs * _per_class(weight, logs, dim)).sum(dim)
    ignored = target == ignore_index
    uniform = uniform.masked_fill(ignored, 0.0)
    if reduction == 1 and weight is not None:
        counted = target.masked_select(~ignored).flatten()
        uniform = uniform.sum() / weight.gather(0, counted).sum()
    elif reduction == 1:
        uniform = uniform.masked_select(~ignored).mean()
    elif reduction == 2:
        uniform = uniform.sum()
    return (1 - smoothing) * loss + uniform * (smoothing / logs.size(dim))


def _towards_probabilities(logs, target, weight, reduction, smoothing, dim):
    classes = logs.size(dim)
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    products = logs * target
    if weight is not None:
        products = products * _per_class(weight, logs, dim)
    if reduction == 0:
        return -products.sum(dim)
    if reduction == 2:
        return -products.sum()
    if logs.numel() == 0:
        return -products.sum() * math.nan
    return -products.sum() / (logs.numel() // classes)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """Cross entropy of logits input (N, C, ...) or (C) and target: classes (N, ...), int64, or probabilities.

    ``weight`` (C) scales classes, ``label_smoothing`` in [0, 1] mixes the target with the uniform one.
    Raises IndexError where a class is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.cross_entropy.html
    """
    reduction = _reduction_of(size_average, reduce, reduction)
    dim = 0 if input.dim() == 1 else 1
    probabilities = input.shape == target.shape and input.dim() > 0
    if not probabilities and label_smoothing == 0.0:
        return _nll_loss(_C.log_softmax(input, dim), target, weight, reduction, ignore_index)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if not probabilities:
        logs = _C.log_softmax(input, dim)
        return _smoothed(logs, target, weight, reduction, ignore_index, label_smoothing, dim)
    if not target.is_floating_point():
        kind = {_C.int64: "Long", _C.int32: "Int", _C.int16: "Short", _C.int8: "Char", _C.uint8: "Byte"}
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            + kind.get(target.dtype, "Bool")
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if weight is not None and (weight.dim() != 1 or weight.numel() != input.size(dim)):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{input.size(dim)} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    return _towards_probabilities(_C.log_softmax(input, dim), target, weight, reduction, label_smoothing, dim)


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
