"""Convolutions and what turns them round."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)
from rushlight.nn import init  # noqa: F401  (scripts import these from here)

from ._conv_forward import Conv1d, Conv2d, Conv3d, _Conv, _ConvNd, _same_padding, _wrong_size
from ._conv_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvTransposeNd
from .module import Module  # noqa: F401  (scripts import these from here)
from .utils import _pair, _reverse_repeat_tuple, _single, _triple  # noqa: F401  (scripts import these from here)

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
