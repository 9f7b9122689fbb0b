"""Normalisation."""

from __future__ import annotations

import math

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def _verify_batch_size(size):
    if math.prod(size[2:]) * size[0] == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size):
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalisation over all dimensions but the second."""
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _C.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation of each channel of each example."""
    if use_input_stats:
        _verify_spatial_size(input.size())
    return _C.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation over the last dimensions."""
    return _C.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Division by the root of the mean square over the last dimensions."""
    return _C.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalisation of groups of channels of each example."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return _C.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Division of each channel by (k + alpha * mean square of a window of size channels) to the beta."""
    if input.dim() < 3:
        text = f"Expected 3D or higher dimensionality{' ' * 25} input (got {input.dim()} dimensions)"
        raise ValueError(text)
    if input.numel() == 0:
        return input
    squares = input.mul(input).reshape(input.size(0), 1, input.size(1), -1)
    squares = _nn.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    if input.dim() > 3:  # what avg_pool3d, which PyTorch calls for these, computes in
        squares = _C._autocast(squares, "float32")
    mean = _nn.avg_pool2d(squares, (size, 1), 1).view(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Division by the p-norm along dim, or by eps where that is smaller."""
    length = input.norm(p, dim, keepdim=True).clamp(eps).expand_as(input)
    return input / length if out is None else _C.div(input, length, out=out)
