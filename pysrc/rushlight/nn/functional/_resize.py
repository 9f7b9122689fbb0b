"""Padding and resizing."""

from __future__ import annotations

import warnings

from rushlight import _C
from rushlight._C import _nn

from . import _pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions of a tensor.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    pad : list of ints
        How many elements to add: before and after along the last dimension, then along the one before it, and
        so on. Negative numbers cut off.
    mode : {'constant', 'reflect', 'replicate', 'circular'}, default 'constant'
        What to add: a constant, the mirror image (without the edge), the edge, or the other end.
    value : float, optional
        The constant; 0 if not given.

    Returns
    -------
    Tensor
        The padded tensor.

    Raises
    ------
    RuntimeError
        If `pad` does not fit the input.
    NotImplementedError
        If `mode` is unknown or does not take such an input.

    Notes
    -----
    Same as torch.nn.functional.pad:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.pad.html

    Examples
    --------
    >>> x = torch.tensor([[1.0, 2.0, 3.0]])
    >>> F.pad(x, (1, 2))
    tensor([[0., 1., 2., 3., 0., 0.]])
    >>> F.pad(x, (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    >>> F.pad(x, (0, 0, 1, 0), value=9.0)
    tensor([[9., 9., 9.],
            [1., 2., 3.]])
    """
    return _nn.pad(input, pad, mode, value)


# ---- resizing ----

_FLAT = {  # by mode and dims of the input: operators without align_corners
    ("nearest", 3): _nn.upsample_nearest1d,
    ("nearest", 4): _nn.upsample_nearest2d,
    ("nearest", 5): _nn.upsample_nearest3d,
    ("nearest-exact", 3): _nn._upsample_nearest_exact1d,
    ("nearest-exact", 4): _nn._upsample_nearest_exact2d,
    ("nearest-exact", 5): _nn._upsample_nearest_exact3d,
}
_SMOOTH = {
    ("linear", 3, False): _nn.upsample_linear1d,
    ("bilinear", 4, False): _nn.upsample_bilinear2d,
    ("bilinear", 4, True): _nn._upsample_bilinear2d_aa,
    ("trilinear", 5, False): _nn.upsample_trilinear3d,
    ("bicubic", 4, False): _nn.upsample_bicubic2d,
    ("bicubic", 4, True): _nn._upsample_bicubic2d_aa,
    ("lanczos", 4, True): _nn._upsample_lanczos2d_aa,
}
_AREA = {3: _pool.adaptive_avg_pool1d, 4: _pool.adaptive_avg_pool2d, 5: _pool.adaptive_avg_pool3d}


def _is_integer(x):
    if type(x) is int or isinstance(x, int):
        return True
    if isinstance(x, _C.Tensor):
        return not x.is_floating_point()
    return hasattr(x, "__index__")


def _output_size(input, size, dim):
    if not isinstance(size, (list, tuple)):
        return [size] * dim
    if len(size) != dim:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got "
            f"input with spatial dimensions of {list(input.shape[2:])} and output size of {size}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "output size in (o1, o2, ...,oK) format."
        )
    if not all(_is_integer(x) for x in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with types {[type(x) for x in size]}"
        )
    return size


def _scale_factors(input, scale_factor, dim):
    if not isinstance(scale_factor, (list, tuple)):
        return [scale_factor] * dim
    if len(scale_factor) != dim:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {list(input.shape[2:])} and "
            f"scale_factor of shape {scale_factor}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return scale_factor


def _sizes(input, size, scale_factor, recompute):
    """Give the output's size or the factors, one of them None, with a number for each spatial dim."""
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _output_size(input, size, dim), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    return None, _scale_factors(input, scale_factor, dim)


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Interpolate: resize signals, images or volumes.

    Parameters
    ----------
    input : Tensor
        Signals (N, C, W), images (N, C, H, W) or volumes (N, C, D, H, W).
    size : int or tuple of ints, optional
        Sides of the result.
    scale_factor : float or tuple of floats, optional
        Factors of the sides, in place of `size`.
    mode : str, default 'nearest'
        'nearest', 'nearest-exact' or 'area'; 'linear' for signals; 'bilinear', 'bicubic' or 'lanczos' for
        images; 'trilinear' for volumes.
    align_corners : bool, optional
        Whether the middles of the corner elements stay where they are (True) or the edges (False, the
        default); not with 'nearest', 'nearest-exact' and 'area'.
    recompute_scale_factor : bool, optional
        Compute the factors anew from the rounded sides of the result.
    antialias : bool, default False
        Widen the filter where images become smaller; 'lanczos' needs it.

    Returns
    -------
    Tensor
        Of the dimensions of the input.

    Raises
    ------
    ValueError
        If not just one of `size` and `scale_factor` is given, or an option does not go with `mode`.
    NotImplementedError
        If `mode` does not take such an input.

    Notes
    -----
    Same as torch.nn.functional.interpolate:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.interpolate.html

    Examples
    --------
    >>> x = torch.tensor([[[1.0, 3.0]]])
    >>> F.interpolate(x, scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    >>> F.interpolate(x, size=4, mode="linear", align_corners=True)
    tensor([[[1.0000, 1.6667, 2.3333, 3.0000]]])
    >>> F.interpolate(torch.zeros(1, 3, 10, 20), size=(5, 8), mode="bilinear", antialias=True).shape
    torch.Size([1, 3, 5, 8])
    """
    if mode not in ("nearest", "area", "nearest-exact"):
        align_corners = False if align_corners is None else align_corners
    elif align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the "
            "interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    output_size, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    if factors is not None and (recompute_scale_factor or mode == "area"):
        output_size, factors = [int(n * factor) for n, factor in zip(input.shape[2:], factors)], None
    dims = input.dim()
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and dims == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if (mode, dims) in _FLAT:
        return _FLAT[mode, dims](input, output_size, factors)
    if mode == "area" and dims in _AREA:
        return _AREA[dims](input, output_size)
    if mode == "lanczos" and dims == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if (mode, dims, bool(antialias)) in _SMOOTH:
        return _SMOOTH[mode, dims, bool(antialias)](input, output_size, align_corners, factors)
    raise _refusal(dims, mode)


def _refusal(dims, mode):
    needed = {"linear": 3, "bilinear": 4, "trilinear": 5}
    if dims in needed.values() and mode in needed:
        return NotImplementedError(f"Got {dims}D input, but {mode} mode needs {needed[mode]}D input")
    return NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported"
        f" (got {dims}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | "
        f"area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Upsample signals, images or volumes. Deprecated, with a warning: use interpolate().

    Parameters
    ----------
    input : Tensor
        As for interpolate().
    size : int or tuple of ints, optional
        Sides of the result.
    scale_factor : float or tuple of floats, optional
        Factors of the sides, in place of `size`.
    mode : str, default 'nearest'
        As for interpolate().
    align_corners : bool, optional
        As for interpolate().

    Returns
    -------
    Tensor
        As of interpolate().

    Notes
    -----
    Same as torch.nn.functional.upsample:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.upsample.html
    """
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """Upsample by the nearest elements. Deprecated, with a warning: use interpolate().

    Parameters
    ----------
    input : Tensor
        As for interpolate().
    size : int or tuple of ints, optional
        Sides of the result.
    scale_factor : float or tuple of floats, optional
        Factors of the sides, in place of `size`.

    Returns
    -------
    Tensor
        As of interpolate().

    Notes
    -----
    Same as torch.nn.functional.upsample_nearest:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.upsample_nearest.html
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """Upsample images bilinearly, with aligned corners. Deprecated, with a warning: use interpolate().

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W).
    size : int or tuple of ints, optional
        Sides of the result.
    scale_factor : float or tuple of floats, optional
        Factors of the sides, in place of `size`.

    Returns
    -------
    Tensor
        As of interpolate().

    Notes
    -----
    Same as torch.nn.functional.upsample_bilinear:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.upsample_bilinear.html
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
