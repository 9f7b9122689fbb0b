"""A stand-in for a value while a function is traced; none is made."""

from rushlight import _missing

from . import Proxy

__all__ = ["Proxy"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
