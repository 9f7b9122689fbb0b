"""Batch normalisation."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)
from rushlight.nn import init  # noqa: F401  (scripts import these from here)

from ._batchnorm_base import _BatchNorm, _NormBase
from ._batchnorm_plain import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ._batchnorm_sync import SyncBatchNorm
from .module import Module  # noqa: F401  (scripts import these from here)

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]

_homes.adopt(__name__, _NormBase, _BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm)
