"""Histograms in one and in several dimensions."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

from . import _C
from ._tensor import _TYPE_NAMES, _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

# ---- the borders of bins ----


def _type_of(dtype):
    """What C++ calls a dtype."""
    words = {"Float": "float", "Double": "double", "Long": "long int", "Int": "int", "Half": "c10::Half"}
    title = _TYPE_NAMES[dtype][len("torch.") : -len("Tensor")]
    return words.get(title, title)


def _borders(values, range):
    """The least and the largest border of every column, wide enough for a bin."""
    n = values.shape[1]
    if range is not None:
        if len(range) != 2 * n:
            raise RuntimeError(
                f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, "
                f"but got {len(range)}"
            )
        lows, highs = list(range[::2]), list(range[1::2])
    elif values.numel():
        lows, highs = values.amin(0).tolist(), values.amax(0).tolist()
    else:
        lows, highs = [0.0] * n, [1.0] * n
    for d, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {d}"
            )
        if low == high:
            lows[d], highs[d] = low - 0.5, high + 0.5
    return list(zip(lows, highs, strict=True))


# ---- counting ----


def _check(values, bins, weight):
    for d, edges in enumerate(bins):
        count = edges
        if isinstance(edges, _C.Tensor):
            if edges.dtype is not values.dtype:
                raise RuntimeError(
                    "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                    f"input with dtype {_type_of(values.dtype)} and bins for dimension {d} with dtype "
                    f"{_type_of(edges.dtype)}"
                )
            if edges.dim() != 1:
                raise RuntimeError(
                    f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} "
                    f"dimensions in the bins tensor for dimension {d}"
                )
            if not edges.numel():
                raise RuntimeError(
                    "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
                    f"the bins tensor for dimension {d}"
                )
            count = edges.numel() - 1
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
    if weight is None:
        return
    if tuple(weight.shape) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
            f"tensor excluding its innermost dimension, but got input with shape {list(values.shape)} and "
            f"weight with shape {list(weight.shape)}"
        )
    if weight.dtype is not values.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have "
            f"the same dtype, but got input({_type_of(values.dtype)}), and weight({_type_of(weight.dtype)})"
        )


def _count(values, edges, weight):
    """How many rows of values lie in each cell between the edges."""
    if len(edges) == 1:
        return _C._nn._cell_counts(values[:, 0], edges[0], weight)
    sizes = [each.numel() - 1 for each in edges]
    cell, inside = 0, True
    for column, borders, size in zip(values.unbind(1), edges, sizes, strict=True):
        place = _C._nn._search_places(column, borders, True) - 1
        inside = (column >= borders[0]) & (column <= borders[-1]) & inside
        cell = cell * size + place.clamp(max=size - 1)  # the last bin has its right border
    everything = bool(inside.all())
    if not everything:
        cell, weight = cell[inside], weight if weight is None else weight[inside]
    counts = _C.bincount(cell, weight, minlength=math.prod(sizes))
    return counts.to(values.dtype).reshape(sizes)


def _histogram(values, bins, range, weight, density):
    """The counts and the edges of (..., dimensions) values."""
    _check(values, bins, weight)
    between = isinstance(bins[0], _C.Tensor)
    if not values.is_floating_point() or (not between and values.dtype not in (_C.float32, _C.float64)):
        title = _TYPE_NAMES[values.dtype][len("torch.") : -len("Tensor")]
        name = "histogram_cpu" if between else "histogramdd"
        raise NotImplementedError(f"\"{name}\" not implemented for '{title}'")
    values = values.detach().reshape(-1, len(bins))
    weight = None if weight is None else weight.detach().reshape(-1)
    if between:
        edges = [each.detach() for each in bins]
    else:
        borders = _borders(values, range)
        kind = {"dtype": values.dtype, "device": values.device}
        edges = [_C.linspace(*ends, n + 1, **kind) for ends, n in zip(borders, bins, strict=True)]
    counts = _count(values, edges, weight)
    if density:
        counts = counts / counts.sum()
        for d, each in enumerate(edges):
            widths = each[1:] - each[:-1]
            counts = counts / widths.reshape([-1 if at == d else 1 for at in builtins.range(len(edges))])
    return counts, edges


# ---- results ----


def _fields_repr(self):
    fields = ",\n".join(f"{name}={part!r}" for name, part in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


def _results(name):
    """The class of a named tuple, which prints as those of operators do."""
    kind = namedtuple(name, ("hist", "bin_edges"), module="torch.return_types")
    kind.__repr__ = _fields_repr
    return kind


_One, _Several = _results("histogram"), _results("histogramdd")


def histogram(
    input: Tensor,
    bins: int = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Tensor | None = None,
) -> Any:
    """Compute a histogram: how many elements lie in each bin.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    bins : int or Tensor, default 100
        Number of equal bins, or their edges.
    range : tuple of 2 floats, optional
        Where the bins begin and end; the smallest and the largest element if not given.
    weight : Tensor, optional
        What each element counts; 1 if not given.
    density : bool, default False
        Divide so that the integral is 1.
    out : tuple of 2 Tensors, optional
        Where the results go.

    Returns
    -------
    named tuple of 2 Tensors
        ``hist`` and ``bin_edges``.

    Raises
    ------
    RuntimeError
        If bins, range or weight do not fit.

    Notes
    -----
    Same as torch.histogram: https://docs.pytorch.org/docs/2.13/generated/torch.histogram.html

    Examples
    --------
    >>> hist, edges = torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0))
    >>> hist
    tensor([0., 2., 1., 0.])
    >>> edges
    tensor([0.0000, 0.7500, 1.5000, 2.2500, 3.0000])
    """
    _need_tensor(input, "histogram", "input", 1)
    flat = input.reshape(-1, 1)
    counts, (edges,) = _histogram(
        flat, [bins], range, None if weight is None else weight.reshape(-1), density
    )
    if out is None:
        return _One(counts, edges)
    for target, part in zip(out, (counts, edges), strict=True):
        target.resize_(part.shape).copy_(part)
    return _One(*out)


def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Compute a histogram of points in several dimensions.

    Parameters
    ----------
    input : Tensor
        Points, (..., number of dimensions).
    bins : int, list of ints or list of Tensors
        Number of equal bins, for all or for each dimension, or the edges of each.
    range : list of floats, optional
        Where the bins of each dimension begin and end; the smallest and the largest element if not given.
    weight : Tensor, optional
        What each point counts; 1 if not given.
    density : bool, default False
        Divide so that the integral is 1.

    Returns
    -------
    named tuple of (Tensor, tuple of Tensors)
        ``hist`` and ``bin_edges``.

    Raises
    ------
    RuntimeError
        If bins, range or weight do not fit.

    Notes
    -----
    Same as torch.histogramdd: https://docs.pytorch.org/docs/2.13/generated/torch.histogramdd.html

    Examples
    --------
    >>> points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    >>> torch.histogramdd(points, bins=[3, 3]).hist
    tensor([[0., 1., 0.],
            [1., 0., 0.],
            [1., 0., 1.]])
    """
    _need_tensor(input, "histogramdd", "input", 1)
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input.shape[-1]
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    counts, edges = _histogram(input, bins, range, weight, density)
    return _Several(counts, tuple(edges))
