"""Losses of probabilities and distributions."""

from __future__ import annotations

import math
import warnings

import rushlight
from rushlight import _C
from rushlight._C import _nn
from rushlight.functional import broadcast_shapes

from .. import _reduction
from ._loss_differences import _named, _reduced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the binary cross entropy loss of probabilities.

    ``-weight * (target * log(input) + (1 - target) * log(1 - input))``, with logarithms of at least -100. For
    logits, binary_cross_entropy_with_logits() is more exact.

    Parameters
    ----------
    input : Tensor
        Probabilities, of any shape.
    target : Tensor
        Targets in [0, 1], of the shape of the input.
    weight : Tensor, optional
        Weights of the elements, broadcast.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If the shapes differ.
    RuntimeError
        If the input is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.binary_cross_entropy:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.binary_cross_entropy.html

    Examples
    --------
    >>> F.binary_cross_entropy(torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.0]))
    tensor(0.1643)
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
    """Compute the binary cross entropy loss of logits, without overflow in the sigmoid.

    Parameters
    ----------
    input : Tensor
        Logits, of any shape.
    target : Tensor
        Targets in [0, 1], of the shape of the input.
    weight : Tensor, optional
        Weights of the elements, broadcast.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    pos_weight : Tensor, optional
        Weights of positive targets, broadcast; e.g. negatives over positives for each class.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If the shapes differ.

    Notes
    -----
    Same as torch.nn.functional.binary_cross_entropy_with_logits:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.binary_cross_entropy_with_logits.html

    Examples
    --------
    >>> logits, target = torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0])
    >>> F.binary_cross_entropy_with_logits(logits, target)
    tensor(0.2201)
    >>> F.binary_cross_entropy_with_logits(logits, target, pos_weight=torch.tensor(3.0))
    tensor(0.3470)
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
    """Compute the Kullback-Leibler divergence loss: ``target * (log(target) - input)``.

    Parameters
    ----------
    input : Tensor
        Log-probabilities of the model, of any shape.
    target : Tensor
        Probabilities, or their logarithms with `log_target`, of the shape of the input.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'batchmean', 'sum', 'none'}, default 'mean'
        'batchmean' divides the sum by the first size, as the divergence is defined; 'mean' divides by the
        number of elements, with a warning.
    log_target : bool, default False
        `target` holds logarithms.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Notes
    -----
    Same as torch.nn.functional.kl_div:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.kl_div.html

    Examples
    --------
    >>> log_probs = torch.tensor([[0.5, 0.5]]).log()
    >>> F.kl_div(log_probs, torch.tensor([[0.9, 0.1]]), reduction="batchmean")
    tensor(0.3681)
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
    """Compute the soft margin loss of two classes: ``log(1 + exp(-target * input))``.

    Parameters
    ----------
    input : Tensor
        Scores, of any shape.
    target : Tensor
        1 or -1, of the shape of the input.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Notes
    -----
    Same as torch.nn.functional.soft_margin_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.soft_margin_loss.html

    Examples
    --------
    >>> F.soft_margin_loss(torch.tensor([2.0, -1.0]), torch.tensor([1.0, 1.0]), reduction="none")
    tensor([0.1269, 1.3133])
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
    """Compute the multi-label soft margin loss: the mean binary cross entropy of all classes.

    Parameters
    ----------
    input : Tensor
        Logits, (N, C) or (C).
    target : Tensor
        0 or 1 for each class, of the shape of the input.
    weight : Tensor, optional
        (C), weights of the classes.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' (N) or ().

    Raises
    ------
    ValueError
        If `reduction` is unknown.

    Notes
    -----
    Same as torch.nn.functional.multilabel_soft_margin_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multilabel_soft_margin_loss.html

    Examples
    --------
    >>> F.multilabel_soft_margin_loss(torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0]]))
    tensor(0.3778)
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
    """Compute the negative log likelihood loss of counts under Poisson distributions.

    ``exp(input) - target * input`` with `log_input`, else ``input - target * log(input + eps)``.

    Parameters
    ----------
    input : Tensor
        Expected counts or their logarithms, of any shape.
    target : Tensor
        Counts.
    log_input : bool, default True
        The input is the logarithm.
    full : bool, default False
        Add Stirling's approximation of ``log(target!)`` where the target is above 1.
    size_average : bool, optional
        Deprecated: use `reduction`.
    eps : float, default 1e-8
        Keeps the logarithm finite.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If `reduction` is unknown.

    Notes
    -----
    Same as torch.nn.functional.poisson_nll_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.poisson_nll_loss.html

    Examples
    --------
    >>> F.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]), reduction="none")
    tensor([ 1.0000, -0.2817])
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
    """Compute the negative log likelihood loss of targets under Gaussian distributions.

    ``0.5 * (log(var) + (input - target)**2 / var)``, where `var` is at least `eps`.

    Parameters
    ----------
    input : Tensor
        Means, of any shape.
    target : Tensor
        Targets.
    var : Tensor or float
        Variances: of the shape of the input, without its last size, or with one size of 1.
    full : bool, default False
        Add the constant ``0.5 * log(2 * pi)``.
    eps : float, default 1e-6
        Smallest variance.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If a variance is negative or `var` has another shape, or `reduction` is unknown.

    Notes
    -----
    Same as torch.nn.functional.gaussian_nll_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gaussian_nll_loss.html

    Examples
    --------
    >>> mean, target = torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0])
    >>> F.gaussian_nll_loss(mean, target, torch.tensor([1.0, 4.0]), reduction="none")
    tensor([0.0000, 1.1931])
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
