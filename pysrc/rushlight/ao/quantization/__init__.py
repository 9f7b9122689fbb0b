"""Marks for quantization; to quantize is not in this version.

See https://docs.pytorch.org/docs/2.13/quantization.html
"""

from rushlight import _exports

from .stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]
_exports.publish(globals())
