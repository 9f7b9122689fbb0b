"""Comparing tensors in tests, and making tensors for them."""

from rushlight import _exports

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
_exports.publish(globals())
