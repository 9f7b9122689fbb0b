"""Optimisers."""

from rushlight import _exports

_exports.publish(globals())
__all__ = [*_exports.homes(__name__), "lr_scheduler", "swa_utils"]
