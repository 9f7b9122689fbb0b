"""What PyTorch keeps here of quantization."""

from rushlight import _exports

__all__ = ["quantization"]
_exports.publish(globals())
