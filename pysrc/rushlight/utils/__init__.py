"""Helpers."""

from rushlight._missing import lacks

from . import hooks

__all__ = ["hooks"]
__getattr__ = lacks(__name__)
