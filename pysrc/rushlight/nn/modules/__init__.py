"""The layers."""

from rushlight import _exports

_exports.publish(globals())
__all__ = _exports.public(__name__)
