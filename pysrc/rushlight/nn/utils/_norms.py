"""Norms of tensors, written with operators that every device has."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


def vector_norm(tensor: Tensor, order: float = 2.0, dims: Any = None, keepdim: bool = False) -> Any:
    """The norm over all elements, or over ``dims``."""
    dims = list(range(tensor.dim())) if dims is None else list(dims)
    if not dims:
        return tensor.abs() if order else (tensor != 0).to(tensor.dtype)
    if order == 2:
        return (tensor * tensor).sum(dims, keepdim=keepdim).sqrt()
    size = tensor.abs()
    if order == 1:
        return size.sum(dims, keepdim=keepdim)
    if order == math.inf:
        return size.amax(dims, keepdim=keepdim)
    if order == -math.inf:
        return size.amin(dims, keepdim=keepdim)
    if order == 0:
        return (tensor != 0).to(tensor.dtype).sum(dims, keepdim=keepdim)
    return size.pow(order).sum(dims, keepdim=keepdim).pow(1.0 / order)


def norm_except_dim(tensor: Tensor, order: Any, dim: int) -> Any:
    """The norm of each slice along ``dim``, shaped so that it divides the tensor; -1: one norm of all."""
    if dim == -1:
        return vector_norm(tensor, order)
    return vector_norm(tensor, order, [d for d in range(tensor.dim()) if d != dim], keepdim=True)


def weight_norm(v: Any, g: Any, dim: int) -> Any:
    """The weight whose direction is ``v`` and whose size is ``g``."""
    return v * (g / norm_except_dim(v, 2, dim))


def normalize(vector: Any, eps: float) -> Any:
    """The vector divided by its length, which counts as ``eps`` at least."""
    return vector / vector_norm(vector).clamp(min=eps)
