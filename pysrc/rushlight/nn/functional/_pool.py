"""Pooling."""

from __future__ import annotations

import math

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

adaptive_avg_pool1d = _C.adaptive_avg_pool1d
avg_pool1d = _C.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d


# ---- the largest of a window; with return_indices, where it stands too ----
def _named(n, about, *functions):
    """Give functions the names and texts that they have for n dimensions."""
    for name, function in functions:
        function.__name__ = function.__qualname__ = name.format(n)
        function.__module__ = "rushlight.nn.functional"
        function.__doc__ = about
    return tuple(function for _, function in functions)


def _max_pools(n, what):
    largest = getattr(_C, f"max_pool{n}d")
    found = getattr(_C if n == 1 else _nn, f"max_pool{n}d_with_indices")

    def alone(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return largest(input, kernel_size, stride, padding, dilation, ceil_mode)

    def both(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return tuple(found(input, kernel_size, stride, padding, dilation, ceil_mode))

    def either(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            return tuple(found(input, kernel_size, stride, padding, dilation, ceil_mode))
        return largest(input, kernel_size, stride, padding, dilation, ceil_mode)

    about = f"""Largest element of each window of {what}, and where it stands if `return_indices`.

    RuntimeError for windows that do not fit.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_pool{n}d.html
    """
    names = ("_max_pool{}d", alone), ("max_pool{}d_with_indices", both), ("max_pool{}d", either)
    return _named(n, about, *names)


_max_pool1d, max_pool1d_with_indices, max_pool1d = _max_pools(1, "signals (N, C, L)")
_max_pool2d, max_pool2d_with_indices, max_pool2d = _max_pools(2, "images (N, C, H, W)")
_max_pool3d, max_pool3d_with_indices, max_pool3d = _max_pools(3, "volumes (N, C, D, H, W)")


# ---- as many windows as output_size says ----


def _list_with_default(out_size, defaults):
    """Put the default, an input's side, where out_size has None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    if None not in out_size:
        return out_size
    return [d if o is None else o for o, d in zip(out_size, defaults[-len(out_size) :])]


def adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Means of as many windows as output_size says; None keeps a side."""
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Means of as many windows of volumes as output_size says; None keeps a side."""
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def _adaptive_max_pools(n, what):
    function = getattr(_C if n == 1 else _nn, f"adaptive_max_pool{n}d")

    def both(input, output_size, return_indices=False):
        size = output_size if n == 1 else _list_with_default(output_size, input.size())
        return tuple(function(input, size))

    def alone(input, output_size, return_indices=False):
        return both(input, output_size)[0]

    def either(input, output_size, return_indices=False):
        values, indices = both(input, output_size)
        return (values, indices) if return_indices else values

    about = f"""Largest elements of as many windows of {what} as output_size says; None keeps a side.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.adaptive_max_pool{n}d.html
    """
    names = ("_adaptive_max_pool{}d", alone), ("adaptive_max_pool{}d_with_indices", both)
    return _named(n, about, *names, ("adaptive_max_pool{}d", either))


_adaptive_max_pool1d, adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _adaptive_max_pools(
    1, "signals"
)
_adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _adaptive_max_pools(2, "images")
_adaptive_max_pool3d, adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _adaptive_max_pools(
    3, "volumes"
)


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


def lp_pool1d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """p-norm of each window of signals (N, C, L)."""
    return _lp_pool(avg_pool1d, max_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """p-norm of each window of images (N, C, H, W)."""
    return _lp_pool(avg_pool2d, max_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """p-norm of each window of volumes (N, C, D, H, W)."""
    return _lp_pool(avg_pool3d, max_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)
