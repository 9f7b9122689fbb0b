"""Layers that are trained for quantization: none is here."""

from rushlight import _missing

__getattr__ = _missing.module_getattr(__name__)
