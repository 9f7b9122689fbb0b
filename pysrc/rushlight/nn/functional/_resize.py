"""Padding and resizing."""

import warnings

from rushlight import _C, _missing
from rushlight._C import _nn

from . import _pool


def pad(input, pad, mode="constant", value=None):
    """Pad the last dimensions: (left, right) of the last one first."""
    return _nn.pad(input, pad, mode, value)


# ---- resizing ----

_MODE_DIMS = {
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
    "lanczos": (4,),
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
}


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


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize images (N, C, H, W) to a size or by a factor; mode 'nearest', 'bilinear' or 'area'."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the "
                "interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    dim = input.dim() - 2
    factors = output_size = None
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    elif size is not None:
        output_size = _output_size(input, size, dim)
    elif scale_factor is not None:
        factors = _scale_factors(input, scale_factor, dim)
        if not all(isinstance(factor, (int, float)) or hasattr(factor, "__float__") for factor in factors):
            raise TypeError(f"scale_factor must be a number or a tuple of numbers, not {scale_factor!r}")
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None:
        output_size = [int(n * factor) for n, factor in zip(input.shape[2:], factors)]
        if recompute_scale_factor or mode == "area":
            factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if input.dim() == 4 and not antialias:
        if mode == "nearest":
            return _nn.upsample_nearest2d(input, output_size, *(factors or (None, None)))
        if mode == "area":
            return _pool.adaptive_avg_pool2d(input, output_size)
        if mode == "bilinear":
            return _nn.upsample_bilinear2d(input, output_size, align_corners, *(factors or (None, None)))
    if input.dim() in _MODE_DIMS.get(mode, ()):
        what = f"interpolate of {input.dim()}-D input with mode={mode!r}, antialias={antialias}"
        raise _missing.refuse(what)
    _refuse_interpolate(input, mode)


def _refuse_interpolate(input, mode):
    names = {3: ("linear", "3D"), 4: ("bilinear", "4D"), 5: ("trilinear", "5D")}
    if input.dim() in names and mode in ("linear", "bilinear", "trilinear"):
        needed = {"linear": "3D", "bilinear": "4D", "trilinear": "5D"}[mode]
        raise NotImplementedError(f"Got {names[input.dim()][1]} input, but {mode} mode needs {needed} input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported"
        f" (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | "
        f"area | nearest-exact (got {mode})"
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated: use interpolate."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
