"""Losses that work element by element. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them."""

from __future__ import annotations

import math
import warnings

import rushlight
from rushlight import _C
from rushlight._C import _nn
from rushlight.functional import broadcast_shapes, broadcast_tensors

from .. import _reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def _reduced(loss, reduction):
    """A loss of every element as 'none', 'mean' or 'sum' has it."""
    return (loss, loss.mean, loss.sum)[reduction]() if reduction else loss


# ---- differences ----
def _compared(input, target):
    """Both tensors in one shape; warns where theirs were not equal."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    return broadcast_tensors(input, target)


def _named(size_average, reduce, reduction):
    if size_average is None and reduce is None:
        return reduction
    return _reduction.legacy_get_string(size_average, reduce)


def _weighted(errors, weight, input, reduction, share):
    """Errors times weights of the input's shape; ``share`` says what their mean is a share of."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    errors = errors() * weight
    if reduction == "none":
        return errors
    if reduction == "sum":
        return errors.sum()
    if reduction == "mean":
        return share(errors)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared difference of input and target, of equal shapes (else a warning, and both are broadcast).

    ``weight``, of the input's shape, scales the elements, and the mean is weighted.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.mse_loss.html
    """
    first, second = _compared(input, target)
    reduction = _named(size_average, reduce, reduction)
    if weight is None:
        return _nn.mse_loss(first, second, _reduction.get_enum(reduction))
    return _weighted(
        lambda: (first - second).pow(2), weight, input, reduction, lambda e: e.sum() / weight.sum()
    )


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute difference of input and target, of equal shapes (else a warning, and both are broadcast).

    ``weight``, of the input's shape, scales the elements, and the mean is weighted.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.l1_loss.html
    """
    first, second = _compared(input, target)
    reduction = _named(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(
            lambda: (first - second).abs(), weight, input, reduction, lambda e: e.sum() / weight.sum()
        )
    if first.is_floating_point() or second.is_floating_point():
        return _nn.l1_loss(first, second, _reduction.get_enum(reduction))
    return _reduced((first - second).abs(), _reduction.get_enum(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Square of the difference over 2 beta where it is below beta, else its size minus beta / 2.

    Shapes are equal (else a warning, and both are broadcast); ``beta`` 0 is l1_loss(), below it is an error.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.smooth_l1_loss.html
    """
    first, second = _compared(input, target)
    reduction = _reduction.number_of(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(first, second, reduction)
    return _nn.smooth_l1_loss(first, second, reduction, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square of the difference where it is below delta, else delta (its size - delta / 2).

    Shapes are equal (else a warning, and both are broadcast); ``weight``, of the input's, scales elements.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.huber_loss.html
    """
    first, second = _compared(input, target)
    if weight is None:
        return _nn.huber_loss(first, second, _reduction.get_enum(reduction), delta)
    return _weighted(
        lambda: _nn.huber_loss(first, second, 0, delta), weight, input, reduction, lambda e: e.mean()
    )


# ---- probabilities ----
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of probabilities and targets of one floating dtype and shape.

    ``weight`` scales elements, broadcast. ValueError for other shapes, RuntimeError outside of [0, 1].
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.binary_cross_entropy.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.shape, weight.shape))
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input) and a target of the same shape, without overflow in between.

    ``weight`` scales elements, ``pos_weight`` the share of the target, both broadcast.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.binary_cross_entropy_with_logits.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return _C.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence of log-probabilities input from target, probabilities or their logarithms.

    Reduction 'batchmean' is the sum over the first size; 'mean', over all elements, warns.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.kl_div.html
    """
    if size_average is not None or reduce is not None:
        number = _reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
        number = _reduction.get_enum("sum" if reduction == "batchmean" else reduction)
    loss = _C.kl_div(input, target, number, log_target=log_target)
    return loss / input.size(0) if reduction == "batchmean" and input.dim() else loss


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) of a target that is -1 or 1 and fits the input's shape.

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.soft_margin_loss.html
    """
    return _nn.soft_margin_loss(input, target, _reduction.number_of(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes (N, C) of the binary cross entropy of logits, scaled by ``weight`` (C).

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multilabel_soft_margin_loss.html
    """
    reduction = _named(size_average, reduce, reduction)
    loss = -(target * _nn.log_sigmoid(input) + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    loss = loss.sum(dim=classes) / input.size(classes)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return _reduced(loss, _reduction.get_enum(reduction))


# ---- distributions ----
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts under Poisson distributions of rate exp(input), or input itself.

    ``full`` adds Stirling's term where target is above 1; ``eps`` keeps log(input) finite.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.poisson_nll_loss.html
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _C.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of target under Gaussians of mean input and variance var, at least ``eps``.

    ``var`` is a number or fits the input: of its shape, without the last size, or with one size of 1.
    ValueError for negative or other ones; ``full`` adds the constant term.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gaussian_nll_loss.html
    """
    number = isinstance(var, float)
    if var < 0 if number else (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if number:
        var = var * _C.ones_like(input)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(y for x, y in zip(input.shape, var.shape) if x != y) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with rushlight.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, _reduction.get_enum(reduction))
