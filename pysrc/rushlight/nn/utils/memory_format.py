"""Choosing the memory format of convolutions' weights."""

from __future__ import annotations

from rushlight import nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, memory_format

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, names) -> None:
    kinds = tuple(getattr(nn, name) for name in names if hasattr(nn, name))
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone().to(memory_format=memory_format)


def convert_conv2d_weight_memory_format(module: Module, memory_format: memory_format) -> Any:
    """Give the weights of all Conv2d and ConvTranspose2d below a module this memory format."""
    _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))
    return module


def convert_conv3d_weight_memory_format(module: Module, memory_format: memory_format) -> Any:
    """Give the weights of all Conv3d and ConvTranspose3d below a module this memory format."""
    _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
    return module
