"""Losses of differences: squared, absolute, and those between."""

from __future__ import annotations

import warnings

from rushlight._C import _nn
from rushlight.functional import broadcast_tensors

from .. import _reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
