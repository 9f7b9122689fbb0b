"""Losses over classes."""

from rushlight._C import _nn

from .. import _reduction


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log likelihood: minus input (N, C, ...) at the class that target (N, ...), int64, names.

    ``weight`` (C) scales classes, and the mean is weighted; elements of class ``ignore_index`` do not count.
    Raises IndexError where a class is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.nll_loss.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _nn.nll_loss_nd(input, target, weight, number, ignore_index)


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
    number = _reduction.number_of(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)
