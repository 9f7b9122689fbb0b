"""Padding."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)

from ._padding_constant import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
    _CircularPadNd,
    _ConstantPadNd,
    _PadNd,
)
from ._padding_mirrored import (
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    _ReflectionPadNd,
    _ReplicationPadNd,
)
from .module import Module  # noqa: F401  (scripts import these from here)
from .utils import _ntuple, _pair, _quadruple  # noqa: F401  (scripts import these from here)

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_homes.adopt(
    __name__,
    _PadNd,
    _CircularPadNd,
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    _ConstantPadNd,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
    _ReflectionPadNd,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    _ReplicationPadNd,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
)
