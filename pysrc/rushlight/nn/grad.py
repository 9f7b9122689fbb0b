"""Gradients of convolutions as functions: by the input, of a given size, and by the weight."""

from __future__ import annotations

from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


def conv1d_input(
    input_size: int,
    weight: Tensor | None,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv1d() by its input, which had input_size."""
    return _nn.conv1d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv1d() by its weight, which had weight_size."""
    return _nn.conv1d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)


def conv2d_input(
    input_size: int,
    weight: Tensor | None,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv2d() by its input, which had input_size."""
    return _nn.conv2d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv2d() by its weight, which had weight_size."""
    return _nn.conv2d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)


def conv3d_input(
    input_size: int,
    weight: Tensor | None,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv3d() by its input, which had input_size."""
    return _nn.conv3d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Any,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of conv3d() by its weight, which had weight_size."""
    return _nn.conv3d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)
