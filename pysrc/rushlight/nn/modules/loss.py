"""Losses."""

from __future__ import annotations

import warnings

from rushlight import _homes
from rushlight.nn import functional as F

from ._ctc import CTCLoss
from ._linear_cross_entropy import LinearCrossEntropyLoss
from ._loss_base import _Loss, _WeightedLoss
from ._loss_differences import HuberLoss, L1Loss, MSELoss, SmoothL1Loss
from ._loss_margin import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from ._loss_probabilities import (
    BCELoss,
    BCEWithLogitsLoss,
    GaussianNLLLoss,
    KLDivLoss,
    MultiLabelSoftMarginLoss,
    PoissonNLLLoss,
    SoftMarginLoss,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class NLLLoss(_WeightedLoss):
    """Compute the negative log likelihood loss of target classes.

    The input holds log-probabilities. The loss of an example with class ``y`` is ``-weight[y] * x[y]``.
    `LogSoftmax` gives such an input; `CrossEntropyLoss` is both in one.

    Parameters
    ----------
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

    Shape
    -----
    Input : (N, C), (C), or (N, C, d1, ..., dK)
    Target : (N), (), or (N, d1, ..., dK) of int64, in [0, C)
    Output : a scalar; the shape of the target with 'none'

    Raises
    ------
    IndexError
        When called with a class that is neither in [0, C) nor `ignore_index`.
    ValueError
        When called, if input and target have different batches.
    RuntimeError
        When called, if the target is not int64 (or uint8).

    Notes
    -----
    Same as torch.nn.NLLLoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.NLLLoss.html

    Examples
    --------
    >>> log_probs = nn.LogSoftmax(dim=1)(torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]]))
    >>> nn.NLLLoss()(log_probs, torch.tensor([0, 1]))
    tensor(0.1672)
    """

    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """Compute the negative log likelihood loss; deprecated.

    It is the old name of `NLLLoss`, with a FutureWarning.

    Parameters
    ----------
    weight : Tensor, optional
        (C), weights of the classes.
    size_average : bool, optional
        Deprecated: use `reduction`.
    ignore_index : int, default -100
        Class whose examples count neither in the loss nor in its mean.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Notes
    -----
    Same as torch.nn.NLLLoss2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.NLLLoss2d.html

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     loss = nn.NLLLoss2d()
    >>> caught[0].category.__name__, isinstance(loss, nn.NLLLoss)
    ('FutureWarning', True)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            category=FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Compute the cross entropy loss between logits and target classes.

    For a class ``y`` the loss of an example is ``-weight[y] * log(softmax(x)[y])``; for probabilities ``p``
    of the classes it is ``-sum(weight * p * log(softmax(x)))``. The input is what the last layer gives,
    without a softmax.

    Parameters
    ----------
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

    Shape
    -----
    Input : (N, C), (C), or (N, C, d1, ..., dK), e.g. for each pixel
    Target : (N), (), or (N, d1, ..., dK) of int64, in [0, C); or probabilities, of the shape of the input
    Output : a scalar; the shape of the class target with 'none'

    Raises
    ------
    IndexError
        When called with a class that is neither in [0, C) nor `ignore_index`.
    ValueError
        When called, if input and target have different batches.
    RuntimeError
        When called, if shapes or dtypes do not fit, or `label_smoothing` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.CrossEntropyLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.CrossEntropyLoss.html

    Examples
    --------
    >>> loss = nn.CrossEntropyLoss()
    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    >>> loss(logits, torch.tensor([0, 1]))
    tensor(0.1672)
    >>> loss(logits, torch.tensor([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0]]))
    tensor(0.2672)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


# texts and pickles name this module, not the files
_homes.adopt(__name__, _Loss, _WeightedLoss, *map(globals().get, __all__))
