"""Images: padding and resizing, sampling at the places of a grid, shuffles of pixels, sliding blocks."""

from __future__ import annotations

import warnings

from rushlight import _C
from rushlight._C import _nn
from rushlight.nn.modules.utils import _pair

from . import _pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "affine_grid",
    "channel_shuffle",
    "fold",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


# ---- padding and resizing ----
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


# ---- sampling at the places of a grid ----
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _or_false(align_corners):
    if align_corners is not None:
        return align_corners
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
        "specify align_corners=True if the old behavior is desired. "
        "See the documentation of grid_sample for details.",
        stacklevel=3,
    )
    return False


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images or volumes at the places of a grid, e.g. for a spatial transformer.

    Parameters
    ----------
    input : Tensor
        Images (N, C, H, W) or volumes (N, C, D, H, W).
    grid : Tensor
        Places: (N, H_out, W_out, 2) of x and y, or (N, D_out, H_out, W_out, 3) of x, y and z, each from -1 at
        one edge to 1 at the other.
    mode : {'bilinear', 'nearest', 'bicubic'}, default 'bilinear'
        How to interpolate; 'bicubic' for images only.
    padding_mode : {'zeros', 'border', 'reflection'}, default 'zeros'
        What lies outside.
    align_corners : bool, optional
        Whether -1 and 1 are the middles of the outermost elements (True) or their edges (False); None warns
        and is False.

    Returns
    -------
    Tensor
        (N, C, H_out, W_out) or (N, C, D_out, H_out, W_out).

    Raises
    ------
    ValueError
        If a mode is unknown.

    Notes
    -----
    Same as torch.nn.functional.grid_sample:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html

    References
    ----------
    M. Jaderberg et al., "Spatial transformer networks", 2015, https://arxiv.org/abs/1506.02025

    Examples
    --------
    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid = torch.tensor([[[[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]]])
    >>> F.grid_sample(image, grid, align_corners=True)
    tensor([[[[1.0000, 2.5000, 4.0000]]]])
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    return _C.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        _or_false(align_corners),
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Make the grid of an affine map, for grid_sample().

    Parameters
    ----------
    theta : Tensor
        Affine maps: (N, 2, 3) for images, (N, 3, 4) for volumes.
    size : list of ints
        Size of the result of grid_sample(): (N, C, H, W) or (N, C, D, H, W).
    align_corners : bool, optional
        Whether -1 and 1 are the middles of the outermost elements (True) or their edges (False); None warns
        and is False.

    Returns
    -------
    Tensor
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises
    ------
    ValueError
        If `theta` is not floating or of another shape, or a size is not positive.
    NotImplementedError
        If `size` has not 4 or 5 elements.

    Notes
    -----
    Same as torch.nn.functional.affine_grid:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.affine_grid.html

    Examples
    --------
    >>> mirror = torch.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> grid = F.affine_grid(mirror, [1, 1, 2, 2], align_corners=False)
    >>> F.grid_sample(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), grid, align_corners=False)
    tensor([[[[2., 1.],
              [4., 3.]]]])
    """
    align_corners = _or_false(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if align_corners and min(size[-dims:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. "
            "See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _C.affine_grid_generator(theta, size, align_corners)


# ---- elements in another arrangement: shuffles of pixels and channels, sliding blocks ----
channel_shuffle = _C.channel_shuffle
native_channel_shuffle = _C.native_channel_shuffle
pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle


def unfold(
    input: Tensor,
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Tensor:
    """Extract sliding blocks of images as columns (im2col).

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W) or (C, H, W).
    kernel_size : int or tuple of 2 ints
        Height and width of a block; one number stands for both, here and below.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of a block.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side.
    stride : int or tuple of 2 ints, default 1
        Step of the blocks.

    Returns
    -------
    Tensor
        (N, C * kernel_size[0] * kernel_size[1], L) for L blocks.

    Raises
    ------
    RuntimeError
        If no block fits.

    Notes
    -----
    Same as torch.nn.functional.unfold:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.unfold.html

    Examples
    --------
    >>> F.unfold(torch.arange(9.0).reshape(1, 1, 3, 3), 2)
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
    """
    return _nn.im2col(input, *(_pair(x) for x in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor,
    output_size: int | tuple[int | None, ...],
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Tensor:
    """Combine sliding blocks into images (col2im): add up what overlaps.

    Parameters
    ----------
    input : Tensor
        Blocks as columns, (N, C * kernel_size[0] * kernel_size[1], L), or without N.
    output_size : int or tuple of 2 ints
        Height and width of the images; one number stands for both, here and below.
    kernel_size : int or tuple of 2 ints
        Height and width of a block.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of a block.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side, which are left out again.
    stride : int or tuple of 2 ints, default 1
        Step of the blocks.

    Returns
    -------
    Tensor
        (N, C, output_size[0], output_size[1]).

    Raises
    ------
    RuntimeError
        If the sizes do not fit.

    Notes
    -----
    Same as torch.nn.functional.fold:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.fold.html

    Examples
    --------
    >>> F.fold(torch.ones(1, 4, 4), output_size=3, kernel_size=2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _nn.col2im(input, *(_pair(x) for x in (output_size, kernel_size, dilation, padding, stride)))
