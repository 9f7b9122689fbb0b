"""Gradients of convolutions as functions: by the input, of a given size, and by the weight."""

from rushlight._C import _nn


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv1d() by its input, which had input_size."""
    return _nn.conv1d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv1d() by its weight, which had weight_size."""
    return _nn.conv1d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv2d() by its input, which had input_size."""
    return _nn.conv2d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv2d() by its weight, which had weight_size."""
    return _nn.conv2d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv3d() by its input, which had input_size."""
    return _nn.conv3d_input(grad_output, weight, input_size, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of conv3d() by its weight, which had weight_size."""
    return _nn.conv3d_weight(grad_output, input, weight_size, stride, padding, dilation, groups)
