"""Losses of probabilities and distributions."""

from __future__ import annotations

from rushlight.nn import functional as F

from ._loss_base import _Loss, _WeightedLoss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
