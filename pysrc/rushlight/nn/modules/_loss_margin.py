"""Losses with a margin."""

from __future__ import annotations

from rushlight.nn import functional as F

from ._loss_base import _Loss, _WeightedLoss
from .distance import PairwiseDistance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rushlight._C import Tensor


class HingeEmbeddingLoss(_Loss):
    """Compute the hinge embedding loss of distances of pairs.

    Pairs are alike, with target 1, or not, with target -1. The loss is the input x for the former and
    ``max(0, margin - x)`` for the latter.

    Parameters
    ----------
    margin : float, default 1.0
        Distance that pairs which are not alike should have at least.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : any shape
    Target : shape of the input, of 1 and -1
    Output : a scalar; the shape of the input with 'none'

    Notes
    -----
    Same as torch.nn.HingeEmbeddingLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.HingeEmbeddingLoss.html

    Examples
    --------
    >>> nn.HingeEmbeddingLoss(reduction="none")(torch.tensor([0.25, 0.25]), torch.tensor([1, -1]))
    tensor([0.2500, 0.7500])
    """

    __constants__ = ["margin", "reduction"]
    margin: float

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """Compute the margin ranking loss of pairs of scores.

    The loss is ``max(0, -target * (input1 - input2) + margin)``. Target 1 wants the first input ranked
    higher, -1 the second.

    Parameters
    ----------
    margin : float, default 0.0
        By how much.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input1, input2, target : (N) or ()
    Output : a scalar; the shape of the inputs with 'none'

    Raises
    ------
    RuntimeError
        When called, if the numbers of dimensions differ.

    Notes
    -----
    Same as torch.nn.MarginRankingLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MarginRankingLoss.html

    Examples
    --------
    >>> loss = nn.MarginRankingLoss(margin=0.5)
    >>> loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 3.0]), torch.tensor([1, 1]))
    tensor(0.7500)
    """

    __constants__ = ["margin", "reduction"]
    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """Compute the cosine embedding loss of pairs of vectors.

    Pairs are alike, with target 1, or not, with target -1. The loss is ``1 - cos(x1, x2)`` for the former and
    ``max(0, cos(x1, x2) - margin)`` for the latter.

    Parameters
    ----------
    margin : float, default 0.0
        Cosine that pairs which are not alike may have; as a rule from 0 to 0.5.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input1, input2 : (N, D) or (D)
    Target : (N) or (), of 1 and -1
    Output : a scalar; the shape of the target with 'none'

    Raises
    ------
    RuntimeError
        When called, if the dimensions of inputs and target do not fit.

    Notes
    -----
    Same as torch.nn.CosineEmbeddingLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.CosineEmbeddingLoss.html

    Examples
    --------
    >>> x1, x2 = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [3.0, 4.0]])
    >>> nn.CosineEmbeddingLoss(reduction="none")(x1, x2, torch.tensor([1, -1]))
    tensor([0.4000, 0.6000])
    """

    __constants__ = ["margin", "reduction"]
    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Compute the multi-label margin loss.

    It has hinges between the classes of an example and all others: ``sum(max(0, 1 - (x[y] - x[i]))) / C``
    over each class y that the target names and each class i that it does not.

    Parameters
    ----------
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : (N, C) or (C)
    Target : shape of the input, of int64: the classes of each example, then -1
    Output : a scalar; (N) with 'none'

    Raises
    ------
    RuntimeError
        When called, if the target has another shape, or a class is not in [-1, C).

    Notes
    -----
    Same as torch.nn.MultiLabelMarginLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiLabelMarginLoss.html

    Examples
    --------
    >>> loss = nn.MultiLabelMarginLoss()
    >>> loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))  # classes 3 and 0
    tensor(0.8500)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Compute the multi-class margin loss.

    It has hinges between the target class and all others:
    ``sum(weight[y] * max(0, margin - x[y] + x[i]) ** p) / C`` over the classes i other than the target class
    y.

    Parameters
    ----------
    p : {1, 2}, default 1
        Exponent.
    margin : float, default 1.0
        By how much the target class should exceed the others.
    weight : Tensor, optional
        (C), weights of the classes.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : (N, C) or (C)
    Target : (N) or () of int64, in [0, C)
    Output : a scalar; (N) with 'none'

    Raises
    ------
    ValueError
        If `p` is neither 1 nor 2, or `weight` has not one dimension.
    RuntimeError
        When called, if the target has another shape, or a class is not in [0, C).

    Notes
    -----
    Same as torch.nn.MultiMarginLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiMarginLoss.html

    Examples
    --------
    >>> nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """

    __constants__ = ["p", "margin", "reduction"]
    margin: float
    p: int

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


def _checked(name, margin):
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
    return margin


class TripletMarginLoss(_Loss):
    """Compute the triplet margin loss.

    The loss is ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, where d is the p-norm of the
    difference: positives are pulled nearer to their anchors than negatives.

    Parameters
    ----------
    margin : float, default 1.0
        By how much nearer; positive.
    p : float, default 2.0
        p of the norm.
    eps : float, default 1e-6
        Added to the differences, for stable gradients.
    swap : bool, default False
        Take the distance between positive and negative where it is smaller than that between anchor and
        negative.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Anchor, positive, negative : (N, D) or (D)
    Output : a scalar; (N) or () with 'none'

    Raises
    ------
    ValueError
        If `margin` is not positive.
    RuntimeError
        When called, if the numbers of dimensions differ.

    Notes
    -----
    Same as torch.nn.TripletMarginLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TripletMarginLoss.html

    References
    ----------
    V. Balntas, E. Riba, D. Ponsa, K. Mikolajczyk, "Learning local feature descriptors with triplets and
    shallow convolutional neural networks", 2016, https://doi.org/10.5244/C.30.119

    Examples
    --------
    >>> loss = nn.TripletMarginLoss(margin=5.0)
    >>> loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[3.0, 4.0]]))
    tensor(1.0000)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]
    margin: float
    p: float
    eps: float
    swap: bool

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = _checked("TripletMarginLoss", margin)
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """Compute the triplet margin loss with a distance of your own.

    The loss is ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, where d is any function of two
    tensors.

    Parameters
    ----------
    distance_function : callable, optional
        d: a function or module; `PairwiseDistance` if not given.
    margin : float, default 1.0
        By how much nearer positives should be than negatives; positive.
    swap : bool, default False
        Take the distance between positive and negative where it is smaller than that between anchor and
        negative.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Anchor, positive, negative : (N, *), whatever d takes
    Output : a scalar; the shape of d's result with 'none'

    Raises
    ------
    ValueError
        If `margin` is not positive.

    Notes
    -----
    Same as torch.nn.TripletMarginWithDistanceLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TripletMarginWithDistanceLoss.html

    Examples
    --------
    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: 1 - F.cosine_similarity(x, y))
    >>> loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
    tensor(0.)
    """

    __constants__ = ["margin", "swap", "reduction"]
    margin: float
    swap: bool

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        margin = _checked("TripletMarginWithDistanceLoss", margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
