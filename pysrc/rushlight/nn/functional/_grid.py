"""Sampling at the places of a grid."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
