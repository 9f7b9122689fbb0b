"""Cross entropy of a linear layer."""

from __future__ import annotations

import warnings

import rushlight

from ._cross_entropy import cross_entropy
from ._linear import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


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
