"""Optimisers."""

from rushlight._missing import lacks

from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Optimizer", "SGD"]
__getattr__ = lacks(__name__)
