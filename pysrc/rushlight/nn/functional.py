"""The functions behind the layers."""

import math

from rushlight import _C, _missing
from rushlight._C import _nn, conv2d

__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "conv2d",
    "dropout",
    "elu",
    "elu_",
    "gelu",
    "hardtanh",
    "hardtanh_",
    "interpolate",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "max_pool2d",
    "pad",
    "relu",
    "relu6",
    "relu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "tanh",
    "upsample",
]
__getattr__ = _missing.lacks(__name__)

linear = _nn.linear
avg_pool2d = _nn.avg_pool2d
gelu = _nn.gelu
relu_ = _C.relu_
elu_ = _nn.elu_
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_

# ---- activations ----


def relu(input, inplace=False):
    """max(input, 0)."""
    return _C.relu_(input) if inplace else _C.relu(input)


def relu6(input, inplace=False):
    """Input limited to [0, 6]."""
    return _nn.hardtanh_(input, 0, 6) if inplace else _nn.hardtanh(input, 0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Input limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)


def elu(input, alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where x > 0, else negative_slope * x."""
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input):
    """Hyperbolic tangent."""
    return input.tanh()


def _implicit_dim(name, ndim, stacklevel):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along dim."""
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x) along dim."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) along dim, without its rounding errors."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


# ---- pooling ----


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window."""
    if return_indices:
        raise _missing.refuse("max_pool2d with return_indices=True")
    return _C.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def adaptive_avg_pool2d(input, output_size):
    """Means of as many windows as output_size says; None keeps a side."""
    if isinstance(output_size, (tuple, list)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        if None in output_size:
            kept = input.shape[-len(output_size) :]
            output_size = [k if o is None else o for o, k in zip(output_size, kept)]
    return _nn.adaptive_avg_pool2d(input, output_size)


# ---- normalisation, dropout ----


def _verify_batch_size(size):
    if math.prod(size[2:]) * size[0] == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Batch normalisation over all dimensions but the second."""
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _C.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _C.dropout_(input, p, training) if inplace else _C.dropout(input, p, training)


# ---- padding and resizing ----


def pad(input, pad, mode="constant", value=None):
    """Pad the last dimensions: (left, right) of the last one first."""
    return _nn.pad(input, pad, mode, value)


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
            return adaptive_avg_pool2d(input, output_size)
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
    import warnings

    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)
