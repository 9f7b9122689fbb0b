"""Tensors without data that say what programs would make: rushlight has none, and nothing is an instance.

The meta device does the most of it: ``with torch.device("meta")``.
"""

from .fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
