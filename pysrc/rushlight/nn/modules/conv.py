"""Convolutions and what turns them round."""

from __future__ import annotations

from rushlight import _homes

from ._conv_forward import Conv1d, Conv2d, Conv3d, _Conv, _ConvNd, _same_padding, _wrong_size
from ._conv_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvTransposeNd

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_homes.adopt(
    __name__,
    _same_padding,
    _wrong_size,
    _ConvNd,
    _Conv,
    Conv1d,
    Conv2d,
    Conv3d,
    _ConvTransposeNd,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
