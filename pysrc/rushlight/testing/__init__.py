"""Comparing tensors in tests, and making tensors for them."""

from rushlight import _missing
from rushlight._homes import adopt

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
adopt("rushlight.testing", assert_allclose, assert_close, make_tensor)
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
