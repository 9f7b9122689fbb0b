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
    """Convert the weights of all 2-D convolutions of a module to a memory format.

    Parameters
    ----------
    module : Module
        Module, whose `Conv2d` and `ConvTranspose2d` are changed.
    memory_format : memory_format
        E.g. ``torch.channels_last``.

    Returns
    -------
    Module
        The module.

    Notes
    -----
    Same as torch.nn.utils.convert_conv2d_weight_memory_format:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.convert_conv2d_weight_memory_format.html

    Examples
    --------
    >>> model = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(4, 8, 3), torch.channels_last)
    >>> model.weight.stride()
    (36, 1, 12, 4)
    """
    _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))
    return module


def convert_conv3d_weight_memory_format(module: Module, memory_format: memory_format) -> Any:
    """Convert the weights of all 3-D convolutions of a module to a memory format.

    Parameters
    ----------
    module : Module
        Module, whose `Conv3d` and `ConvTranspose3d` are changed.
    memory_format : memory_format
        E.g. ``torch.channels_last_3d``.

    Returns
    -------
    Module
        The module.

    Notes
    -----
    Same as torch.nn.utils.convert_conv3d_weight_memory_format:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.convert_conv3d_weight_memory_format.html

    Examples
    --------
    >>> model = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(4, 8, 2), torch.channels_last_3d)
    >>> model.weight.stride()
    (32, 1, 16, 8, 4)
    """
    _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
    return module
