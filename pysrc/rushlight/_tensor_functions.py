"""Functions over several tensors: grids, products, blocks; and derivatives of samples."""

from __future__ import annotations

from itertools import combinations as _tuples
from itertools import combinations_with_replacement as _multisets

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


def _together(tensors):
    """The tensors of ``f(a, b)`` or of ``f([a, b])``."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _at_least(n, make):
    def atleast(*tensors):
        return make(tensors[0] if len(tensors) == 1 else tensors)

    atleast.__name__ = atleast.__qualname__ = f"atleast_{n}d"
    atleast.__doc__ = f"""Return a view of a tensor with at least {n} dimension{"" if n == 1 else "s"}.

    Parameters
    ----------
    *tensors : Tensor
        One tensor, or several, also as a list.

    Returns
    -------
    Tensor or tuple of Tensors
        A view, or one for each.

    Notes
    -----
    Same as torch.atleast_{n}d: https://docs.pytorch.org/docs/2.13/generated/torch.atleast_{n}d.html

    Examples
    --------
    >>> torch.atleast_{n}d(torch.tensor(3.0)).dim()
    {n}
    """
    return atleast


atleast_1d = _at_least(1, _C._nn.atleast_1d)
atleast_2d = _at_least(2, _C._nn.atleast_2d)
atleast_3d = _at_least(3, _C._nn.atleast_3d)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Make a grid of coordinates from vectors.

    Parameters
    ----------
    *tensors : Tensor
        Vectors of coordinates, or one list of them.
    indexing : {'ij', 'xy'}, optional
        Whether the first vector runs along rows ('ij', the default, with a warning) or along columns ('xy').

    Returns
    -------
    tuple of Tensors
        For each vector a view of the shape of the grid.

    Raises
    ------
    RuntimeError
        If there is no tensor, one has more than one dimension, dtypes or devices differ, or `indexing` is
        unknown.

    Notes
    -----
    Same as torch.meshgrid: https://docs.pytorch.org/docs/2.13/generated/torch.meshgrid.html

    Examples
    --------
    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    tensors = _together(tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        from warnings import warn

        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            stacklevel=2,
        )
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.device != tensors[0].device for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    n, shape = len(tensors), [t.numel() for t in tensors]
    swap = indexing == "xy" and n > 1
    grids = (t.reshape([-1 if i == d else 1 for i in range(n)]).expand(shape) for d, t in enumerate(tensors))
    return tuple(grid.transpose(0, 1) if swap else grid for grid in grids)


def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all tuples of one element of each vector: their Cartesian product.

    Parameters
    ----------
    *tensors : Tensor
        Vectors, or one list of them.

    Returns
    -------
    Tensor
        (n, number of vectors); one vector is returned as it is.

    Raises
    ------
    RuntimeError
        If one is no vector.

    Notes
    -----
    Same as torch.cartesian_prod: https://docs.pytorch.org/docs/2.13/generated/torch.cartesian_prod.html

    Examples
    --------
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = _together(tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return _C.stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], dim=1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all combinations of `r` elements of a vector, as rows.

    Parameters
    ----------
    input : Tensor
        Vector.
    r : int, default 2
        Number of elements in each.
    with_replacement : bool, default False
        Let an element occur several times.

    Returns
    -------
    Tensor
        (n, r).

    Raises
    ------
    RuntimeError
        If the input is no vector or `r` is negative.

    Notes
    -----
    Same as torch.combinations: https://docs.pytorch.org/docs/2.13/generated/torch.combinations.html

    Examples
    --------
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = _multisets if with_replacement else _tuples
    places = _C.tensor(list(choose(range(len(input)), r)), dtype=_C.int64, device=input.device)
    return input[places.reshape(-1, r)]


def block_diag(*tensors: Any) -> Any:
    """Make a block diagonal matrix: matrices along the diagonal, zeros elsewhere.

    Parameters
    ----------
    *tensors : Tensor
        Matrices; vectors count as rows.

    Returns
    -------
    Tensor
        Matrix of their joint size and dtype.

    Raises
    ------
    RuntimeError
        If one has more than 2 dimensions.

    Notes
    -----
    Same as torch.block_diag: https://docs.pytorch.org/docs/2.13/generated/torch.block_diag.html

    Examples
    --------
    >>> torch.block_diag(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5]]))
    tensor([[1, 2, 0],
            [3, 4, 0],
            [0, 0, 5]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {t.dim()} dimensions"
            )
    if not tensors:
        return _C.empty(1, 0)
    blocks = [atleast_2d(t) for t in tensors]
    dtype, width = blocks[0].dtype, sum(t.size(1) for t in blocks)
    for t in blocks:
        dtype = _C.promote_types(dtype, t.dtype)
    rows, left = [], 0
    for t in blocks:
        rows.append(_C._nn.pad(t.to(dtype), (left, width - left - t.size(1))))
        left += t.size(1)
    return _C.cat(rows)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Make a Vandermonde matrix: the powers of the elements of a vector as columns.

    Parameters
    ----------
    x : Tensor
        Vector.
    N : int, optional
        Number of columns; the length of the vector if not given.
    increasing : bool, default False
        Begin with power 0 instead of the highest.

    Returns
    -------
    Tensor
        (length of the vector, N).

    Raises
    ------
    RuntimeError
        If `x` is no vector or `N` is negative.

    Notes
    -----
    Same as torch.vander: https://docs.pytorch.org/docs/2.13/generated/torch.vander.html

    Examples
    --------
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    column = x.unsqueeze(-1)
    powers = column.expand(x.numel(), max(n - 1, 0)).cumprod(1)
    whole = _C.cat([_C.ones_like(column, dtype=powers.dtype), powers], 1)[:, :n]
    return whole if increasing else whole.flip(1)


def _range(*args, **kwargs):
    """Return the numbers from `start` to `end`, which is included. Deprecated, with a warning: use arange().

    Its arguments are those of arange(). ``range(start, end, step=1)``

    Notes
    -----
    Same as torch.range: https://docs.pytorch.org/docs/2.13/generated/torch.range.html
    """
    from warnings import warn

    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
        "[start, end).",
        stacklevel=2,
    )
    return _C._nn.range(*args, **kwargs)


_range.__name__ = _range.__qualname__ = "range"


# ---- derivatives of samples ----
def _spacings(input, spacing, dims, given):
    if spacing is None:
        return [1.0] * len(dims)
    if not isinstance(spacing, (list, tuple)):
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            + (
                f"'dim.size() = {len(dims)}', since dim argument was given"
                if given
                else f"'self.dim() = {input.dim()}', since dim argument was not given"
            )
            + f", but got a list of length {len(spacing)}"
        )
    return list(spacing)


def _edge(at, steps, order, sign):
    """The derivative at the end of the samples; ``at(i)`` is the i-th from there, ``steps`` the distances."""
    if order == 1:
        return sign * (at(1) - at(0)) / steps[0]
    near, next_ = steps
    a = -(2.0 * near + next_) / (near * (near + next_))
    b = (near + next_) / (near * next_)
    c = -near / (next_ * (near + next_))
    return sign * (a * at(0) + b * at(1) + c * at(2))


def _gradient_along(x, spacing, dim, order):
    n = x.size(dim)

    def part(start, length):
        return x.narrow(dim, start, length)

    if isinstance(spacing, _C.Tensor):
        gaps = spacing.diff()
        shape = [-1 if d == dim else 1 for d in range(x.dim())]
        left, right = gaps[: n - 2].reshape(shape), gaps[1 : n - 1].reshape(shape)
        before, here, after = part(0, n - 2), part(1, n - 2), part(2, n - 2)
        inner = (
            before * (-right / (left * (left + right)))
            + here * ((right - left) / (left * right))
            + after * (left / (right * (left + right)))
        )
        first, last = [gaps[0], gaps[1:2].squeeze()], [gaps[n - 2], gaps[n - 3 : n - 2].squeeze()]
    else:
        inner = (part(2, n - 2) - part(0, n - 2)) / (2 * spacing)
        first = last = [spacing, spacing]
    start = _edge(lambda i: part(i, 1), first[:order], order, 1)
    end = _edge(lambda i: part(n - 1 - i, 1), last[:order], order, -1)
    return _C.cat([start, inner, end], dim)


def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | None = None, edge_order: int = 1, axis: Any = None
) -> Any:
    """Estimate derivatives of samples along dimensions, by central differences.

    Parameters
    ----------
    input : Tensor
        Samples.
    spacing : float, list of floats or list of Tensors, optional
        Distance of the samples, for all or for each dimension, or their coordinates; 1 if not given.
    dim : int or list of ints, optional
        Dimensions; all if not given.
    edge_order : {1, 2}, default 1
        Order of the one-sided differences at the ends.
    axis : int or list of ints, optional
        The same as `dim`.

    Returns
    -------
    tuple of Tensors
        One of the shape of the input for each dimension.

    Raises
    ------
    RuntimeError
        If `spacing` or `edge_order` does not fit, or there are too few samples.
    IndexError
        If there is no such dimension.

    Notes
    -----
    Same as torch.gradient: https://docs.pytorch.org/docs/2.13/generated/torch.gradient.html

    Examples
    --------
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    if axis is not None:
        if dim is not None:
            raise TypeError("gradient() got multiple values for argument 'dim'")
        dim = axis
    given = dim is not None
    dims = list(range(input.dim())) if not given else [dim] if isinstance(dim, int) else list(dim)
    spacings = _spacings(input, spacing, dims, given)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    wrapped = []
    for d in dims:
        if not -input.dim() <= d < input.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], "
                f"but got {d})"
            )
        if d % input.dim() in wrapped:
            raise RuntimeError(f"dim {d % input.dim()} appears multiple times in the list of dims")
        wrapped.append(d % input.dim())
        if input.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = input if input.is_floating_point() else input.to(_C.get_default_dtype())
    return tuple(_gradient_along(x, each, d, edge_order) for each, d in zip(spacings, wrapped))
