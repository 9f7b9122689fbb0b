"""Losses of differences: squared, absolute, and those between."""

from __future__ import annotations

from rushlight.nn import functional as F

from ._loss_base import _Loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


class L1Loss(_Loss):
    """Compute the mean absolute error (L1) loss: ``|input - target|``.

    Parameters
    ----------
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : any shape
    Target : shape of the input; one that broadcasts to it gets a UserWarning
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    RuntimeError
        When called, if the shapes do not broadcast.
    ValueError
        When called, if `reduction` is no such word.

    Notes
    -----
    Same as torch.nn.L1Loss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.L1Loss.html

    Examples
    --------
    >>> nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(1.5000)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Compute the mean squared error (squared L2 norm) loss.

    The loss is ``(input - target) ** 2``.

    Parameters
    ----------
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : any shape
    Target : shape of the input; one that broadcasts to it gets a UserWarning
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    RuntimeError
        When called, if the shapes do not broadcast.
    ValueError
        When called, if `reduction` is no such word.

    Notes
    -----
    Same as torch.nn.MSELoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MSELoss.html

    Examples
    --------
    >>> nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(2.5000)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Compute the smooth L1 loss, which outliers do not dominate.

    It is square for small differences, absolute for large ones. With ``d = |input - target|``:
    ``d ** 2 / (2 * beta)`` where ``d < beta``, else ``d - beta / 2``. Outliers weigh less than in `MSELoss`.
    It is `HuberLoss` divided by beta.

    Parameters
    ----------
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    beta : float, default 1.0
        Difference from which on the loss is linear; 0 makes it `L1Loss`.

    Shape
    -----
    Input : any shape
    Target : shape of the input
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    RuntimeError
        When called, if `beta` is negative.

    Notes
    -----
    Same as torch.nn.SmoothL1Loss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.SmoothL1Loss.html

    References
    ----------
    R. Girshick, "Fast R-CNN", 2015, https://arxiv.org/abs/1504.08083

    Examples
    --------
    >>> nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3.0]), torch.zeros(2))
    tensor([0.1250, 2.5000])
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Compute the Huber loss, which outliers do not dominate.

    It is square for small differences, absolute for large ones. With ``d = |input - target|``: ``d ** 2 / 2``
    where ``d < delta``, else ``delta * (d - delta / 2)``.

    Parameters
    ----------
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    delta : float, default 1.0
        Difference from which on the loss is linear; positive.

    Shape
    -----
    Input : any shape
    Target : shape of the input; one that broadcasts to it gets a UserWarning
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    TypeError
        If `delta` is no number.
    RuntimeError
        When called, if `delta` is not positive.

    Notes
    -----
    Same as torch.nn.HuberLoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.HuberLoss.html

    References
    ----------
    P. Huber, "Robust Estimation of a Location Parameter", 1964, https://doi.org/10.1214/aoms/1177703732

    Examples
    --------
    >>> nn.HuberLoss(reduction="none", delta=2.0)(torch.tensor([1.0, 4.0]), torch.zeros(2))
    tensor([0.5000, 6.0000])
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)
