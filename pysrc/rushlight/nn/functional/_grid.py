"""Sampling at the places of a grid."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

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
    """Sample images (N, C, H, W) or volumes (N, C, D, H, W) at the places of a grid (N, ..., 2 or 3).

    A place is x, y or x, y, z, each from -1 at one edge to 1 at the other; with `align_corners` these are
    the middles of the outermost elements. `mode` is 'bilinear' (also of volumes), 'nearest' or, of images,
    'bicubic'. `padding_mode` says what lies outside: 'zeros', 'border' or 'reflection'.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html
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


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    """Make the grid for grid_sample() of affine maps (N, 2, 3) of images or (N, 3, 4) of volumes.

    `size` is that of the result of grid_sample(), (N, C, H, W) or (N, C, D, H, W).
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.affine_grid.html
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
