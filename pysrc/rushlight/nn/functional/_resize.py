"""Padding and resizing."""

from __future__ import annotations

import warnings

from rushlight import _C
from rushlight._C import _nn

from . import _pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


def pad(input: Tensor, pad: list[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions: (left, right) of the last one first."""
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
    size: int | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize signals (N, C, W), images (N, C, H, W) or volumes (N, C, D, H, W).

    Either `size` or `scale_factor` says how large the result is. `mode` is 'nearest', 'nearest-exact', 'area'
    or, by the input's dims, 'linear', 'bilinear', 'bicubic', 'lanczos' or 'trilinear'. With `align_corners`
    the middles of the corner elements stay where they are. `antialias` widens the filters of images that
    become smaller; 'lanczos' needs it.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.interpolate.html
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
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
) -> Tensor:
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
