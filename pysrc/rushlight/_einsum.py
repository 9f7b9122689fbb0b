"""Products of several tensors, and distances: what their arguments may be."""

from __future__ import annotations

from . import _C
from ._tensor import _TYPE_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

_nn = _C._nn
_TITLES = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


# ---- einsum ----
def _letter(n):
    if n == Ellipsis:
        return "..."
    if 0 <= n < len(_LETTERS):
        return _LETTERS[n]
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


def _letters(subscripts):
    return "".join(map(_letter, subscripts))


def _from_lists(args):
    """The equation and the operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    equation = ",".join(map(_letters, args[1::2]))
    if len(args) % 2 == 0:
        return equation, args[::2]
    return f"{equation}->{_letters(args[-1])}", args[:-1:2]


def einsum(*args: Any) -> Tensor:
    """Sum products of tensors by the Einstein summation convention.

    The equation names the dimensions of each operand by letters. Letters that are not behind ``->`` are
    summed; without an arrow those that occur once stay, in alphabetical order. ``...`` stands for dimensions
    that are not named and broadcast.

    Parameters
    ----------
    *args : str and Tensors
        The equation, and the operands; or each operand followed by a list of numbers for its dimensions, and
        a list for the result.

    Returns
    -------
    Tensor
        The sum of the products.

    Raises
    ------
    RuntimeError
        If the equation does not fit the operands.
    ValueError
        If there are too few arguments.

    Notes
    -----
    Same as torch.einsum: https://docs.pytorch.org/docs/2.13/generated/torch.einsum.html

    Examples
    --------
    >>> a, b = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    >>> torch.einsum("bij,bjk->bik", a, b).shape
    torch.Size([2, 3, 5])
    >>> torch.einsum("ii", torch.eye(3))
    tensor(3.)
    >>> torch.einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3]).shape
    torch.Size([2, 3, 5])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )
    equation = args[0]
    if isinstance(equation, _C.Tensor):
        equation, operands = _from_lists(args)
    else:
        operands = args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    try:
        return _nn.einsum(equation, operands)
    except TypeError:
        for i, operand in enumerate(operands):
            if not isinstance(operand, _C.Tensor):
                kind = type(operand).__name__
                raise TypeError(f"expected Tensor as element {i} in argument 1, but got {kind}") from None
        raise


# ---- tensordot ----
def _dims_of(a, b, dims):
    """Which dimensions of a and of b are summed."""
    if isinstance(dims, (tuple, list)):
        first, second = dims
        return first, second
    if isinstance(dims, _C.Tensor):
        if dims.numel() > 1:
            if dims.shape[0] != 2:
                raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.shape[0]}")
            return dims[0].tolist(), dims[1].tolist()
        n = int(dims.item())
    elif isinstance(dims, int):
        n = dims
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing "
            f"two lists, but got dims={dims}"
        )
    if n < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if isinstance(dims, int) and n > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-n, 0)), list(range(n))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Contract two tensors: sum products over several dimensions of each.

    Parameters
    ----------
    a : Tensor
        First tensor.
    b : Tensor
        Second tensor.
    dims : int or tuple of 2 lists of ints, default 2
        The last dimensions of `a` and the first of `b`, so many; or which of each.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        The other dimensions of `a`, then those of `b`.

    Raises
    ------
    RuntimeError
        If sizes differ or `dims` does not fit.

    Notes
    -----
    Same as torch.tensordot: https://docs.pytorch.org/docs/2.13/generated/torch.tensordot.html

    Examples
    --------
    >>> a, b = torch.ones(2, 3, 4), torch.ones(3, 4, 5)
    >>> torch.tensordot(a, b).shape
    torch.Size([2, 5])
    >>> torch.tensordot(a, b, dims=([1], [0])).shape
    torch.Size([2, 4, 4, 5])
    """
    first, second = _dims_of(a, b, dims)
    if out is not None and out.dtype is not a.dtype:
        wanted, given = (_TITLES[t.dtype] for t in (a, out))
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with "
            f"dtype {given}"
        )
    return _nn.tensordot(a, b, first, second, out=out)


# ---- cdist ----
_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Compute the distances of all pairs of rows of two matrices.

    Parameters
    ----------
    x1 : Tensor
        (..., P, M).
    x2 : Tensor
        (..., R, M).
    p : float, default 2.0
        p of the p-norm of the difference, 0 or more.
    compute_mode : str, default 'use_mm_for_euclid_dist_if_necessary'
        Accepted; distances are computed exactly.

    Returns
    -------
    Tensor
        (..., P, R).

    Raises
    ------
    ValueError
        If `compute_mode` is unknown.
    RuntimeError
        If the shapes do not fit or `p` is negative.

    Notes
    -----
    Same as torch.cdist: https://docs.pytorch.org/docs/2.13/generated/torch.cdist.html

    Examples
    --------
    >>> torch.cdist(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.0000],
            [4.2426]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _nn.cdist(x1, x2, p, _MODES[compute_mode])


# ---- multi_dot ----
def _matrices_of_chain(tensors):
    """The operands of multi_dot() as matrices; errors as PyTorch's."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, t in enumerate(tensors):
        last = i in (0, len(tensors) - 1)
        if t.ndim != 2 and not (last and t.ndim == 1):
            if last:
                place = "last" if i else "first"
                raise RuntimeError(f"multi_dot(): the {place} tensor must be 1D or 2D but got {t.ndim}D")
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
        if t.dtype is not tensors[0].dtype:
            names = (str(each.dtype).rpartition(".")[2] for each in (tensors[0], t))
            first, other = ({"float32": "float", "float64": "double"}.get(n, n) for n in names)
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{first} and tensor {i} {other}"
            )
    matrices = list(tensors)
    if matrices[0].ndim == 1:
        matrices[0] = matrices[0].unsqueeze(0)
    if matrices[-1].ndim == 1:
        matrices[-1] = matrices[-1].unsqueeze(-1)
    for i, (a, b) in enumerate(zip(matrices, matrices[1:])):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} "
                "cannot be multiplied"
            )
    return matrices


def _best_splits(sizes: Any) -> Any:
    """For sizes[i] x sizes[i + 1] matrices: where the product of i .. j is best split."""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split
