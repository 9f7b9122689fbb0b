"""Pooling."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)

from ._pool_adaptive import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    _AdaptiveAvgPoolNd,
    _AdaptiveMaxPoolNd,
    _FractionalMaxPoolNd,
)
from ._pool_average import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    _AvgPoolNd,
    _AvgPoolOverride,
    _LPPoolNd,
)
from ._pool_max import (
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    _MaxPoolNd,
    _MaxUnpoolNd,
)
from .module import Module  # noqa: F401  (scripts import these from here)
from .utils import _pair, _single, _triple  # noqa: F401  (scripts import these from here)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

_homes.adopt(
    __name__,
    _MaxPoolNd,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    _MaxUnpoolNd,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    _AvgPoolNd,
    AvgPool1d,
    _AvgPoolOverride,
    AvgPool2d,
    AvgPool3d,
    _LPPoolNd,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    _FractionalMaxPoolNd,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    _AdaptiveAvgPoolNd,
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    _AdaptiveMaxPoolNd,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
