"""Losses with a margin. Reduction 'none' keeps every element, 'mean' and 'sum' reduce them."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

from .. import _reduction
from ._loss_each import _reduced

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
    """Input where target is 1, max(0, margin - input) where it is -1.

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hinge_embedding_loss.html
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
    """max(0, -target (input1 - input2) + margin): target 1 ranks the first higher, -1 the second.

    RuntimeError unless all have as many dimensions.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.margin_ranking_loss.html
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
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1.

    Inputs are (N, D) and target (N), or (D) and a number. RuntimeError for others.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.cosine_embedding_loss.html
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
    """Mean over the classes (N, C) of max(0, margin - input at the target + input) ** p, p 1 or 2.

    ``target`` (N) holds classes, int64; ``weight`` (C), 1-dimensional, scales by the target's class.
    ValueError for other p and weights.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multi_margin_loss.html
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
    """Sum over all pairs of a target class and another one of max(0, 1 - input there + input here), over C.

    ``target``, int64 and of the input's shape (N, C) or (C), lists the classes up to the first -1.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multilabel_margin_loss.html
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
    """max(0, distance to positive - distance to negative + margin), by the norm of order p.

    ``swap`` takes the distance of positive and negative where that is smaller. ValueError unless margin > 0.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.triplet_margin_loss.html
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
    """triplet_margin_loss() of any distance function of two tensors; pairwise_distance() without one.

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.triplet_margin_with_distance_loss.html
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
