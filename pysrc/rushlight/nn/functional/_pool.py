"""Pooling."""

import math

from rushlight import _C
from rushlight._C import _nn

adaptive_avg_pool1d = _C.adaptive_avg_pool1d
avg_pool1d = _C.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d

# ---- the largest of a window; with return_indices, where it stands too ----


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window of signals (N, C, L)."""
    if return_indices:
        return tuple(_C.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode))
    return _C.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window of images (N, C, H, W)."""
    if return_indices:
        return tuple(_nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode))
    return _C.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window of volumes (N, C, D, H, W)."""
    if return_indices:
        return tuple(_nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode))
    return _C.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


# ---- as many windows as output_size says ----


def _filled_in(output_size, input):
    """Put the input's sides where output_size has None."""
    if isinstance(output_size, int):
        return output_size
    if input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if None not in output_size:
        return output_size
    return [n if o is None else o for o, n in zip(output_size, input.shape[-len(output_size) :])]


def adaptive_avg_pool2d(input, output_size):
    """Means of as many windows as output_size says; None keeps a side."""
    return _nn.adaptive_avg_pool2d(input, _filled_in(output_size, input))


def adaptive_avg_pool3d(input, output_size):
    """Means of as many windows of volumes as output_size says; None keeps a side."""
    return _nn.adaptive_avg_pool3d(input, _filled_in(output_size, input))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Largest elements of as many windows of signals as output_size says."""
    values, indices = _C.adaptive_max_pool1d(input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Largest elements of as many windows of images as output_size says; None keeps a side."""
    values, indices = _nn.adaptive_max_pool2d(input, _filled_in(output_size, input))
    return (values, indices) if return_indices else values


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Largest elements of as many windows of volumes as output_size says; None keeps a side."""
    values, indices = _nn.adaptive_max_pool3d(input, _filled_in(output_size, input))
    return (values, indices) if return_indices else values


# ---- the p-norm of a window ----


def _lp_pool(average, largest, input, norm_type, kernel_size, stride, ceil_mode, sides):
    if sides > 1 and not isinstance(kernel_size, int) and len(kernel_size) != sides:
        few = f"not enough values to unpack (expected {sides}, got {len(kernel_size)})"
        raise ValueError(few if len(kernel_size) < sides else f"too many values to unpack (expected {sides})")
    if norm_type == float("inf"):
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    many = kernel_size**sides if isinstance(kernel_size, int) else math.prod(kernel_size)
    mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu()).mul(many).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm of each window of signals (N, C, L)."""
    return _lp_pool(avg_pool1d, max_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm of each window of images (N, C, H, W)."""
    return _lp_pool(avg_pool2d, max_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """p-norm of each window of volumes (N, C, D, H, W)."""
    return _lp_pool(avg_pool3d, max_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)
