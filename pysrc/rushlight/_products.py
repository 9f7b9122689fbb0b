"""Products of several tensors, and distances: what their arguments may be."""

from . import _C
from ._tensor import _TYPE_NAMES

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


def einsum(*args):
    """Sum products of operands over the dimensions that the equation names, as in ``"bij,bjk->bik"``.

    Operands follow the equation, or each is followed by a list of numbers: ``einsum(a, [0, 1], b, [1, 2])``.
    Raises RuntimeError for an equation that does not suit the operands.
    https://docs.pytorch.org/docs/2.13/generated/torch.einsum.html
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


def tensordot(a, b, dims=2, out=None):
    """Sum products over the last ``dims`` dimensions of a and the first of b, or over those of two lists.

    Raises RuntimeError when sizes do not match. https://docs.pytorch.org/docs/2.13/generated/torch.tensordot.html
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


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Return the distances of order p of all rows of x1 to all rows of x2, for each matrix of a batch.

    The modes tell PyTorch where it may trade exactness for speed; all of them answer exactly here.
    https://docs.pytorch.org/docs/2.13/generated/torch.cdist.html
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _nn.cdist(x1, x2, p, _MODES[compute_mode])
