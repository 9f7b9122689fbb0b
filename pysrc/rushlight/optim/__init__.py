"""Optimisers."""

from rushlight import _missing

from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Optimizer", "SGD"]
__getattr__ = _missing.lacks(__name__)
