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
