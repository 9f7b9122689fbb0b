"""Losses over classes."""

from __future__ import annotations

from rushlight._C import _nn

from .. import _reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood: minus input (N, C, ...) at the class that target (N, ...), int64, names.

    ``weight`` (C) scales classes, and the mean is weighted; elements of class ``ignore_index`` do not count.
    Raises IndexError where a class is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.nll_loss.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _nn.nll_loss_nd(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits input (N, C, ...) or (C) and target: classes (N, ...), int64, or probabilities.

    ``weight`` (C) scales classes, ``label_smoothing`` in [0, 1] mixes the target with the uniform one.
    Raises IndexError where a class is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.cross_entropy.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)
