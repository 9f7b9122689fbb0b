"""Losses with a margin. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

from .. import _reduction
from ._loss_differences import _reduced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rushlight._C import Tensor


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
