"""The older place of :mod:`rushlight.ao.quantization`."""

from rushlight import _exports
from rushlight.ao.quantization import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]
_exports.publish(globals())
