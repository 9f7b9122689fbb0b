"""Rows of a table, one by one and in bags."""

from __future__ import annotations

import warnings

import rushlight
from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["embedding", "embedding_bag"]

_MODES = {"sum": 0, "mean": 1, "max": 2}


def _no_grad_embedding_renorm_(weight, input, max_norm, norm_type):
    with rushlight.no_grad():
        _C.embedding_renorm_(weight, input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up embeddings: the rows of a table, by their numbers.

    Parameters
    ----------
    input : Tensor
        Numbers of rows, int64 or int32, of any shape.
    weight : Tensor
        Table, (num_embeddings, embedding_dim).
    padding_idx : int, optional
        Row that gets no gradient; negative numbers count from the end.
    max_norm : float, optional
        Rows with a larger norm are scaled down to it first, in place.
    norm_type : float, default 2.0
        p of the p-norm that `max_norm` means.
    scale_grad_by_freq : bool, default False
        Divide the gradient of each row by how often the input names it.
    sparse : bool, default False
        Accepted; gradients are dense.

    Returns
    -------
    Tensor
        Shape of the input, and embedding_dim.

    Raises
    ------
    AssertionError
        If `padding_idx` is no row.
    IndexError
        If a number is no row.

    Notes
    -----
    Same as torch.nn.functional.embedding:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.embedding.html

    Examples
    --------
    >>> table = torch.arange(8.0).reshape(4, 2)
    >>> F.embedding(torch.tensor([3, 0]), table)
    tensor([[6., 7.],
            [0., 1.]])
    """
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < max(weight.size(0), 1):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return _C.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _bags_of(input, offsets, weights):
    """Make one list of the rows of a 2-D input, each of which is a bag; answer (list, offsets, weights)."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                f"length sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = _C.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        return input.reshape(-1), offsets, None if weights is None else weights.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, weights


def _check_mode(mode, scale_grad_by_freq, sparse):
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Look up bags of embeddings: the sum, mean or maximum of several rows of a table.

    Parameters
    ----------
    input : Tensor
        Numbers of rows: (B, n) for bags of n, or (N) with `offsets`.
    weight : Tensor
        Table, (num_embeddings, embedding_dim).
    offsets : Tensor, optional
        Where each bag begins in an input of one dimension, (B).
    max_norm : float, optional
        Rows with a larger norm are scaled down to it first, in place.
    norm_type : float, default 2
        p of the p-norm that `max_norm` means.
    scale_grad_by_freq : bool, default False
        Divide the gradient of each row by how often the input names it; not with 'max'.
    mode : {'sum', 'mean', 'max'}, default 'mean'
        What to make of the rows of a bag.
    sparse : bool, default False
        Accepted; gradients are dense.
    per_sample_weights : Tensor, optional
        Factors of the rows, of the shape of the input; with 'sum' only.
    include_last_offset : bool, default False
        `offsets` has one more element, where the last bag ends.
    padding_idx : int, optional
        Row that does not count and gets no gradient.

    Returns
    -------
    Tensor
        (B, embedding_dim).

    Raises
    ------
    ValueError
        If shapes do not fit, or `mode` is unknown or excludes another argument.
    NotImplementedError
        If `per_sample_weights` comes with another mode than 'sum'.

    Notes
    -----
    Same as torch.nn.functional.embedding_bag:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.embedding_bag.html

    Examples
    --------
    >>> table = torch.arange(8.0).reshape(4, 2)
    >>> F.embedding_bag(torch.tensor([[0, 1], [2, 3]]), table, mode="sum")
    tensor([[ 2.,  4.],
            [10., 12.]])
    >>> F.embedding_bag(torch.tensor([0, 1, 3]), table, torch.tensor([0, 1]))
    tensor([[0., 1.],
            [4., 5.]])
    """
    if weight.dtype is _C.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. "
            "Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    include_last_offset = include_last_offset and input.dim() != 2
    input, offsets, per_sample_weights = _bags_of(input, offsets, per_sample_weights)
    _check_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _C.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
