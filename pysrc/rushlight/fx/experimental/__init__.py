"""What PyTorch's graph tools keep apart as experimental: the questions that programs ask of them."""

from rushlight import _exports

__all__: list[str] = []
_exports.publish(globals())
