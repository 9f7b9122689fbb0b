"""Helpers."""

from rushlight import _missing

from . import hooks

__all__ = ["hooks"]
__getattr__ = _missing.lacks(__name__)
