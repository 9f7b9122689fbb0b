"""Losses."""

from __future__ import annotations

import math
import warnings

import rushlight
from rushlight import _C
from rushlight._C import _nn
from rushlight.functional import broadcast_shapes, broadcast_tensors

from .. import _reduction
from ._linear import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


# ---- losses over classes ----
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log likelihood loss: minus the log-probability of each target class.

    Parameters
    ----------
    input : Tensor
        Log-probabilities, as log_softmax() returns them: (N, C), (C) or (N, C, d1, ..., dK).
    target : Tensor
        Classes, int64: (N), () or (N, d1, ..., dK).
    weight : Tensor, optional
        (C), weights of the classes.
    size_average : bool, optional
        Deprecated: use `reduction`.
    ignore_index : int, default -100
        Class whose examples count neither in the loss nor in its mean.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses (by the weights of their classes), to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the target.

    Raises
    ------
    IndexError
        If a class is neither in [0, C) nor `ignore_index`.
    ValueError
        If input and target have different batches.

    Notes
    -----
    Same as torch.nn.functional.nll_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.nll_loss.html

    Examples
    --------
    >>> F.nll_loss(torch.tensor([[-0.5, -1.5], [-2.0, -0.1]]), torch.tensor([0, 1]))
    tensor(0.3000)
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
    """Compute the cross entropy loss between logits and target classes.

    For a class ``y`` the loss of an example is ``-weight[y] * log(softmax(x)[y])``; for probabilities ``p``
    of the classes it is ``-sum(weight * p * log(softmax(x)))``.

    Parameters
    ----------
    input : Tensor
        Logits, without a softmax: (N, C), (C) or (N, C, d1, ..., dK).
    target : Tensor
        Classes, int64: (N), () or (N, d1, ..., dK); or probabilities, of the shape of the input.
    weight : Tensor, optional
        (C), weights of the classes.
    size_average : bool, optional
        Deprecated: use `reduction`.
    ignore_index : int, default -100
        Class whose examples count neither in the loss nor in its mean.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses (by the weights of their classes), to sum them or to return each.
    label_smoothing : float, default 0.0
        Mix the target with the uniform distribution: 0 is the target alone, 1 the latter alone.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the class target.

    Raises
    ------
    IndexError
        If a class is neither in [0, C) nor `ignore_index`.
    ValueError
        If input and target have different batches.
    RuntimeError
        If shapes or dtypes do not fit, or `label_smoothing` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.cross_entropy:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.cross_entropy.html

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    >>> F.cross_entropy(logits, torch.tensor([0, 1]))
    tensor(0.1672)
    >>> F.cross_entropy(logits, torch.tensor([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0]]), reduction="none")
    tensor([0.4395, 0.0949])
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


# ---- cross entropy of a linear layer ----
def _check(input, linear_weight, linear_bias):
    dims = input.dim()
    if dims not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {dims}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    features = input.shape[-1], linear_weight.shape[-1]
    if features[0] != features[1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {features[0]} and {features[1]}, respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if len(outputs) > 1 and dims == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
            f"batched input, (N, {features[0]}), got unbatched input with shape {tuple(input.shape)}"
        )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Compute the cross entropy loss of a linear layer: ``cross_entropy(linear(input, ...), target)``.

    With `options` the logits are computed in chunks of rows, so that they never exist at once.

    Parameters
    ----------
    input : Tensor
        Input of the layer, (N, in_features) or (in_features).
    linear_weight : Tensor
        Weight of the layer, (C, in_features) or (C, ..., in_features).
    target : Tensor
        As for cross_entropy().
    linear_bias : Tensor, optional
        Bias of the layer, (C) or (C, ...).
    weight : Tensor, optional
        (C), weights of the classes.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    ignore_index : int, optional
        Class whose examples do not count; -100 if not given.
    label_smoothing : float, default 0.0
        Mix the target with the uniform distribution: 0 is the target alone, 1 the latter alone.
    options : LinearCrossEntropyOptions, optional
        How to chunk. Needs classes as targets, a weight of two dimensions and no label smoothing; otherwise
        it warns and computes all logits. There is no second derivative.

    Returns
    -------
    Tensor
        As of cross_entropy().

    Raises
    ------
    RuntimeError
        If shapes do not fit, or `ignore_index` is given for probabilities.

    Notes
    -----
    Same as torch.nn.functional.linear_cross_entropy:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.linear_cross_entropy.html

    Examples
    --------
    >>> x, weight = torch.eye(3)[:2], torch.eye(3)
    >>> F.linear_cross_entropy(x, weight, torch.tensor([0, 1]))
    tensor(0.5514)
    >>> F.cross_entropy(F.linear(x, weight), torch.tensor([0, 1]))
    tensor(0.5514)
    """
    _check(input, linear_weight, linear_bias)
    classes, *places = linear_weight.shape[:-1]
    shape = (*input.shape[:-1], classes, *places)
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    chunks = (
        reduction in ("mean", "sum", "none")
        and label_smoothing == 0.0
        and target.dtype == rushlight.int64
        and not places
    )
    if options is not None and chunks:
        from .._chunked_cross_entropy import chunked

        return chunked(input, linear_weight, linear_bias, target, weight, reduction, ignore_index, options)
    if options is not None:
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
            "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(places)}, tracing=False, "
            f"linear_bias.shape={None if linear_bias is None else tuple(linear_bias.shape)}.",
            stacklevel=2,
        )
    if places:
        linear_weight = linear_weight.flatten(0, -2)
        linear_bias = None if linear_bias is None else linear_bias.flatten()
    return cross_entropy(
        linear(input, linear_weight, linear_bias).reshape(shape),
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


# ---- losses of differences: squared, absolute, and those between ----
def _reduced(loss, reduction):
    """A loss of every element as 'none', 'mean' or 'sum' has it."""
    return (loss, loss.mean, loss.sum)[reduction]() if reduction else loss


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
    """Compute the mean squared error (MSE) loss: ``(input - target)**2``.

    Parameters
    ----------
    input : Tensor
        Predictions, of any shape.
    target : Tensor
        Target, of the shape of the input; other shapes are broadcast, with a warning.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    weight : Tensor, optional
        Weights of the elements, of the shape of the input; the mean is weighted.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If `reduction` is unknown or `weight` has another shape.

    Notes
    -----
    Same as torch.nn.functional.mse_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.mse_loss.html

    Examples
    --------
    >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])
    >>> F.mse_loss(x, y)
    tensor(2.)
    >>> F.mse_loss(x, y, reduction="none")
    tensor([0., 4.])
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
    """Compute the mean absolute error (L1) loss: ``abs(input - target)``.

    Parameters
    ----------
    input : Tensor
        Predictions, of any shape.
    target : Tensor
        Target, of the shape of the input; other shapes are broadcast, with a warning.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    weight : Tensor, optional
        Weights of the elements, of the shape of the input; the mean is weighted.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If `reduction` is unknown or `weight` has another shape.

    Notes
    -----
    Same as torch.nn.functional.l1_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.l1_loss.html

    Examples
    --------
    >>> F.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
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
    """Compute the smooth L1 loss: squared where the difference is small, absolute elsewhere.

    With ``d = abs(input - target)`` it is ``d**2 / (2 * beta)`` where ``d < beta``, else ``d - beta / 2``.

    Parameters
    ----------
    input : Tensor
        Predictions, of any shape.
    target : Tensor
        Target, of the shape of the input; other shapes are broadcast, with a warning.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    beta : float, default 1.0
        Difference from which on the loss is absolute; 0 is l1_loss().

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    RuntimeError
        If `beta` is negative.

    Notes
    -----
    Same as torch.nn.functional.smooth_l1_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.smooth_l1_loss.html

    References
    ----------
    R. Girshick, "Fast R-CNN", 2015, https://arxiv.org/abs/1504.08083

    Examples
    --------
    >>> F.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    first, second = _compared(input, target)
    reduction = _reduction.number_of(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(first, second, reduction)
    return _nn.smooth_l1_loss(first, second, reduction, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Compute the Huber loss: squared where the difference is small, absolute elsewhere.

    With ``d = abs(input - target)`` it is ``d**2 / 2`` where ``d < delta``, else ``delta * (d - delta / 2)``.

    Parameters
    ----------
    input : Tensor
        Predictions, of any shape.
    target : Tensor
        Target, of the shape of the input; other shapes are broadcast, with a warning.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    delta : float, default 1.0
        Difference from which on the loss is absolute, above 0.
    weight : Tensor, optional
        Weights of the elements, of the shape of the input.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the input.

    Raises
    ------
    ValueError
        If `reduction` is unknown or `weight` has another shape.
    RuntimeError
        If `delta` is not positive.

    Notes
    -----
    Same as torch.nn.functional.huber_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.huber_loss.html

    Examples
    --------
    >>> F.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    first, second = _compared(input, target)
    if weight is None:
        return _nn.huber_loss(first, second, _reduction.get_enum(reduction), delta)
    return _weighted(
        lambda: _nn.huber_loss(first, second, 0, delta), weight, input, reduction, lambda e: e.mean()
    )


# ---- losses of probabilities and distributions ----
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


# ---- losses with a margin. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them ----
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the hinge embedding loss of distances between like and unlike examples.

    The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Parameters
    ----------
    input : Tensor
        Distances, of any shape.
    target : Tensor
        1 or -1, of the shape of the input.
    margin : float, default 1.0
        Distance from which on unlike examples cost nothing.
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
    Same as torch.nn.functional.hinge_embedding_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hinge_embedding_loss.html

    Examples
    --------
    >>> F.hinge_embedding_loss(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.3000, 0.7000])
    """
    return _C.hinge_embedding_loss(
        input, target, margin, _reduction.number_of(size_average, reduce, reduction)
    )


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the margin ranking loss of pairs of scores: ``max(0, -target * (input1 - input2) + margin)``.

    Parameters
    ----------
    input1 : Tensor
        First scores, (N) or ().
    input2 : Tensor
        Second scores, of that shape.
    target : Tensor
        1 if the first should be higher, -1 if the second.
    margin : float, default 0
        By how much.
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
    RuntimeError
        If the numbers of dimensions differ.

    Notes
    -----
    Same as torch.nn.functional.margin_ranking_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.margin_ranking_loss.html

    Examples
    --------
    >>> first, second = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])
    >>> F.margin_ranking_loss(first, second, torch.ones(2), margin=0.5, reduction="none")
    tensor([0.0000, 1.5000])
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return _C.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the cosine embedding loss of pairs of vectors, like or unlike.

    ``1 - cos(input1, input2)`` where the target is 1, ``max(0, cos(input1, input2) - margin)`` where it is
    -1.

    Parameters
    ----------
    input1 : Tensor
        First vectors, (N, D) or (D).
    input2 : Tensor
        Second vectors, of that shape.
    target : Tensor
        1 or -1, (N) or ().
    margin : float, default 0
        Cosine up to which unlike vectors cost nothing.
    size_average : bool, optional
        Deprecated: use `reduction`.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the target.

    Raises
    ------
    RuntimeError
        If the shapes do not fit.

    Notes
    -----
    Same as torch.nn.functional.cosine_embedding_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.cosine_embedding_loss.html

    Examples
    --------
    >>> a, b = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    >>> F.cosine_embedding_loss(a, b, torch.tensor([1, -1]), reduction="none")
    tensor([1., 1.])
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    return _C.cosine_embedding_loss(input1, input2, target, margin, number)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the multi-class margin (hinge) loss: ``sum(max(0, margin - x[y] + x[i])**p for i != y) / C``.

    Parameters
    ----------
    input : Tensor
        Scores x, (N, C) or (C).
    target : Tensor
        Classes y, int64, (N) or ().
    p : {1, 2}, default 1
        Power.
    margin : float, default 1.0
        By how much the target should be higher than the others.
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
        A scalar; with 'none' the shape of the target.

    Raises
    ------
    ValueError
        If `p` is neither 1 nor 2, or `weight` not of one dimension.

    Notes
    -----
    Same as torch.nn.functional.multi_margin_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multi_margin_loss.html

    Examples
    --------
    >>> F.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.9]]), torch.tensor([2]))
    tensor(0.1667)
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the multi-label margin (hinge) loss between target classes and all others.

    ``sum(max(0, 1 - (x[y] - x[i]))) / C`` over all target classes `y` and other classes `i`.

    Parameters
    ----------
    input : Tensor
        Scores x, (N, C) or (C).
    target : Tensor
        int64, of the shape of the input: the target classes, up to the first -1.
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

    Notes
    -----
    Same as torch.nn.functional.multilabel_margin_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multilabel_margin_loss.html

    Examples
    --------
    >>> scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> F.multilabel_margin_loss(scores, torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """
    return _nn.multilabel_margin_loss(input, target, _reduction.number_of(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the triplet margin loss: an anchor should be nearer to a positive than to a negative example.

    ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, where `d` is the p-norm of the difference.

    Parameters
    ----------
    anchor : Tensor
        Anchors, (N, D) or (D).
    positive : Tensor
        Like examples, of that shape.
    negative : Tensor
        Unlike examples, of that shape.
    margin : float, default 1.0
        By how much nearer; above 0.
    p : float, default 2
        p of the norm.
    eps : float, default 1e-6
        Added to the differences.
    swap : bool, default False
        Take the distance from positive to negative where it is smaller than that from the anchor.
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
        If `margin` is not positive.

    Notes
    -----
    Same as torch.nn.functional.triplet_margin_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.triplet_margin_loss.html

    References
    ----------
    V. Balntas et al., "Learning local feature descriptors with triplets and shallow convolutional neural
    networks", 2016, https://doi.org/10.5244/C.30.119

    Examples
    --------
    >>> anchor, positive = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> F.triplet_margin_loss(anchor, positive, torch.tensor([[1.5, 0.0]]))
    tensor(0.5000)
    """
    number = _reduction.number_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _C.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Compute the triplet margin loss with a distance function of your own.

    Parameters
    ----------
    anchor : Tensor
        Anchors, (N, ...).
    positive : Tensor
        Like examples, of that shape.
    negative : Tensor
        Unlike examples, of that shape.
    distance_function : callable, optional
        Takes two tensors and returns their distances; pairwise_distance() if not given.
    margin : float, default 1.0
        By how much nearer the positive should be; above 0.
    swap : bool, default False
        Take the distance from positive to negative where it is smaller than that from the anchor.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of the distances.

    Raises
    ------
    ValueError
        If `reduction` is unknown or `margin` not positive.
    RuntimeError
        If the numbers of dimensions differ.

    Notes
    -----
    Same as torch.nn.functional.triplet_margin_with_distance_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.triplet_margin_with_distance_loss.html

    Examples
    --------
    >>> def city_block(a, b):
    ...     return (a - b).abs().sum(-1)
    >>> anchor, positive = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 1.0]])
    >>> negative = torch.tensor([[2.0, 0.5]])
    >>> F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=city_block)
    tensor(0.5000)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = _C.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    loss = _C.clamp_min(margin + near - far, 0)
    return _reduced(loss, _reduction.get_enum(reduction))


# ---- connectionist temporal classification ----
_MOST = 64  # numbers of an int[] argument


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Compute the connectionist temporal classification (CTC) loss: of unaligned sequences of classes.

    It is minus the logarithm of the probability of all alignments of a target to its input.

    Parameters
    ----------
    log_probs : Tensor
        Log-probabilities, as log_softmax() returns them: (T, N, C) or (T, C).
    targets : Tensor
        Classes, without blanks: (N, S), or one after the other (sum of target_lengths).
    input_lengths : Tensor or tuple of ints
        Number of steps of each input, (N) or ().
    target_lengths : Tensor or tuple of ints
        Number of classes of each target, (N) or ().
    blank : int, default 0
        Class that is the blank.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses (each divided by the length of its target), to sum them or to return
        each.
    zero_infinity : bool, default False
        Return 0 in place of infinite losses, of targets that do not fit into their inputs.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of input_lengths.

    Raises
    ------
    RuntimeError
        If shapes or lengths do not fit.
    IndexError
        If a class is out of bounds.

    Notes
    -----
    Same as torch.nn.functional.ctc_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.ctc_loss.html

    References ---------- A. Graves et al., "Connectionist temporal classification: Labelling unsegmented
    sequence data with recurrent neural networks", 2006, https://doi.org/10.1145/1143844.1143891

    Examples
    --------
    >>> log_probs = F.log_softmax(torch.zeros(4, 1, 3), dim=2)
    >>> F.ctc_loss(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor(0.8432)
    """
    number = _reduction.get_enum(reduction)
    both = (input_lengths, target_lengths)
    if all(isinstance(each, tuple | list) and len(each) > _MOST for each in both):
        input_lengths, target_lengths = (_C.tensor(each, dtype=_C.int64) for each in both)
    return _C.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
