"""Losses."""

from __future__ import annotations

import math
import warnings

from rushlight.nn import _reduction
from rushlight.nn import functional as F

from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

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


# ---- what losses have in common ----
class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


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


# ---- the layer of the cross entropy of a linear layer ----
class LinearCrossEntropyLoss(_WeightedLoss):
    """Compute the cross entropy loss of the logits of a linear layer.

    It is `Linear` followed by `CrossEntropyLoss`, but with `options` the batch is taken in chunks, so that
    not all of the logits are there at once.

    Parameters
    ----------
    in_features : int
        Size of the last dimension of the input.
    num_classes : int
        Number of classes, C.
    out_features : tuple of ints, default ()
        Sizes d1, ..., dK, where there are several predictions for each example.
    bias : bool, default False
        Give the linear layer a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    weight : Tensor, optional
        (C), weights of the classes.
    ignore_index : int, optional
        Class whose examples do not count.
    label_smoothing : float, default 0.0
        Mix the target with the uniform distribution; in [0, 1].
    options : LinearCrossEntropyOptions, optional
        How the batch is cut into chunks; all at once if not given.

    Attributes
    ----------
    linear : Linear
        With in_features inputs and ``num_classes * prod(out_features)`` outputs.

    Shape
    -----
    Input : (N, in_features) or (in_features)
    Target : (N, d1, ..., dK) of int64, or probabilities (N, C, d1, ..., dK)
    Output : a scalar; the shape of the class target with 'none'

    Raises
    ------
    RuntimeError
        If `weight` has another shape than (C), or `label_smoothing` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.LinearCrossEntropyLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LinearCrossEntropyLoss.html

    Examples
    --------
    >>> loss = nn.LinearCrossEntropyLoss(16, 1000)
    >>> loss(torch.randn(8, 16), torch.arange(8)).shape
    torch.Size([])
    >>> loss.linear
    Linear(in_features=16, out_features=1000, bias=False)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]
    num_classes: int
    out_features: tuple
    reduction: str
    ignore_index: int
    label_smoothing: float
    options: object

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape(*shape, linear.in_features),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


# ---- losses of differences: squared, absolute, and those between ----
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


# ---- losses of probabilities and distributions ----
class BCELoss(_WeightedLoss):
    """Compute the binary cross entropy loss between probabilities and targets.

    The loss is ``-weight * (y * log(x) + (1 - y) * log(1 - x))``, with logarithms limited to -100, so that
    the loss stays finite. `BCEWithLogitsLoss` takes logits and is more exact.

    Parameters
    ----------
    weight : Tensor, optional
        Weights of the elements, of a shape that broadcasts to that of the input.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : any shape, in [0, 1]
    Target : shape of the input, in [0, 1]
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    ValueError
        When called, if the shapes differ.
    RuntimeError
        When called, if an element of the input is not in [0, 1].

    Notes
    -----
    Same as torch.nn.BCELoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.BCELoss.html

    Examples
    --------
    >>> nn.BCELoss()(torch.tensor([0.8, 0.1]), torch.tensor([1.0, 0.0]))
    tensor(0.1643)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Compute the binary cross entropy loss between logits and targets.

    `Sigmoid` and `BCELoss` in one, without their rounding errors:
    ``-weight * (pos_weight * y * log(sigmoid(x)) + (1 - y) * log(1 - sigmoid(x)))``.

    Parameters
    ----------
    weight : Tensor, optional
        Weights of the elements, of a shape that broadcasts to that of the input.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    pos_weight : Tensor, optional
        Weights of positive examples, as a rule one for each class: above 1 for more recall, below 1 for more
        precision.

    Shape
    -----
    Input : any shape
    Target : shape of the input, in [0, 1]
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    ValueError
        When called, if the shapes differ.

    Notes
    -----
    Same as torch.nn.BCEWithLogitsLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.BCEWithLogitsLoss.html

    Examples
    --------
    >>> loss = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
    >>> loss(torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0]))
    tensor(0.3470)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """Compute the Kullback-Leibler divergence loss.

    The loss is ``target * (log(target) - input)``. The input holds log-probabilities; where the target is 0
    the loss is 0.

    Parameters
    ----------
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'batchmean', 'none'}, default 'mean'
        Whether to average over all elements, to sum, to sum and divide by the size of the batch
        (the divergence as it is defined), or to return each. 'mean' gets a UserWarning.
    log_target : bool, default False
        The target holds log-probabilities, too.

    Shape
    -----
    Input : any shape
    Target : shape of the input
    Output : a scalar; the shape of the input with 'none'

    Notes
    -----
    Same as torch.nn.KLDivLoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.KLDivLoss.html

    References
    ----------
    S. Kullback, R. Leibler, "On Information and Sufficiency", 1951, https://doi.org/10.1214/aoms/1177729694

    Examples
    --------
    >>> loss = nn.KLDivLoss(reduction="batchmean")
    >>> loss(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.75, 0.25]]))
    tensor(0.1308)
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SoftMarginLoss(_Loss):
    """Compute the soft margin loss of a classification in two classes.

    The loss is ``log(1 + exp(-target * input))``.

    Parameters
    ----------
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
    Same as torch.nn.SoftMarginLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.SoftMarginLoss.html

    Examples
    --------
    >>> nn.SoftMarginLoss()(torch.tensor([2.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor(0.2201)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Compute the multi-label soft margin loss.

    It is the mean over all classes of a binary cross entropy. The input holds logits; an example may belong
    to several classes.

    Parameters
    ----------
    weight : Tensor, optional
        (C), weights of the classes.
    size_average, reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : (N, C) or (C)
    Target : shape of the input, of 0 and 1
    Output : a scalar; (N) with 'none'

    Notes
    -----
    Same as torch.nn.MultiLabelSoftMarginLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiLabelSoftMarginLoss.html

    Examples
    --------
    >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1.0, 0.0, 1.0]]))
    tensor(0.3778)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Compute the negative log likelihood loss of Poisson distributions.

    The targets are counts. The loss is ``exp(input) - target * input``, where the input is the logarithm of
    the rate, or ``input - target * log(input + eps)``, where it is the rate; ``log(target!)`` is left out or
    approximated.

    Parameters
    ----------
    log_input : bool, default True
        The input is the logarithm of the rate.
    full : bool, default False
        Add Stirling's approximation of ``log(target!)`` where the target is greater than 1.
    size_average : bool, optional
        Deprecated: use `reduction`.
    eps : float, default 1e-8
        Added to the rate, so that the logarithm of 0 is not taken.
    reduce : bool, optional
        Deprecated: use `reduction`.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : any shape
    Target : shape of the input
    Output : a scalar; the shape of the input with 'none'

    Notes
    -----
    Same as torch.nn.PoissonNLLLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.PoissonNLLLoss.html

    Examples
    --------
    >>> nn.PoissonNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    tensor(0.8591)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]
    log_input: bool
    full: bool
    eps: float

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Compute the negative log likelihood loss of Gaussian distributions.

    The loss is ``(log(max(var, eps)) + (input - target) ** 2 / max(var, eps)) / 2``, where the input is the
    mean and ``var``, the third argument of a call, the variance, as a rule both of them outputs of a network.

    Parameters
    ----------
    full : bool, default False
        Add the constant ``log(2 * pi) / 2``.
    eps : float, default 1e-6
        Least variance.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.

    Shape
    -----
    Input : (*), the means
    Target : shape of the input, or one that broadcasts to it
    Var : shape of the input, the same with a last size of 1, or one size less; or a float
    Output : a scalar; the shape of the input with 'none'

    Raises
    ------
    ValueError
        When called, if a variance is negative or has another shape, or `reduction` is no such word.

    Notes
    -----
    Same as torch.nn.GaussianNLLLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.GaussianNLLLoss.html

    References
    ----------
    D. Nix, A. Weigend, "Estimating the mean and variance of the target probability distribution", 1994,
    https://doi.org/10.1109/ICNN.1994.374138

    Examples
    --------
    >>> nn.GaussianNLLLoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 2.0]), torch.tensor([0.5, 1.0]))
    tensor(-0.0483)
    """

    __constants__ = ["full", "eps", "reduction"]
    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# ---- losses with a margin ----
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


# ---- the layer of connectionist temporal classification ----
class CTCLoss(_Loss):
    """Compute the connectionist temporal classification (CTC) loss.

    The sequences are not aligned with their targets: the loss is the negative logarithm of the summed
    probability of all ways in which the input, with blanks and repeated labels, can spell the target.

    Parameters
    ----------
    blank : int, default 0
        Label of the blank.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, each divided by the length of its target, to sum them or to return
        each.
    zero_infinity : bool, default False
        Count an infinite loss, of an input too short for its target, as 0, with a gradient of 0.

    Shape
    -----
    log_probs : (T, N, C) or (T, C), T steps, logarithms of the probabilities of C labels
    targets : (N, S), (S), or all targets one after the other (sum of their lengths), integers without blanks
    input_lengths : (N) or (), integers or a tuple, at most T
    target_lengths : (N) or (), integers or a tuple, at most S
    Output : a scalar; (N) or () with 'none'

    Raises
    ------
    RuntimeError
        When called, if lengths or shapes do not fit, or `blank` is no label.

    Notes
    -----
    Same as torch.nn.CTCLoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CTCLoss.html

    References
    ----------
    A. Graves, S. Fernandez, F. Gomez, J. Schmidhuber, "Connectionist Temporal Classification: Labelling
    Unsegmented Sequence Data with Recurrent Neural Networks", 2006, https://doi.org/10.1145/1143844.1143891

    Examples
    --------
    >>> log_probs = torch.full((4, 1, 3), 1 / 3).log()  # 4 steps, blank and 2 labels
    >>> nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor(0.8432)
    """

    __constants__ = ["blank", "reduction"]
    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
