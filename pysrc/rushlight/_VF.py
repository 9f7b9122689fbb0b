"""The functions of the package under the name that PyTorch's layers call them by."""

from rushlight import _C, _missing

vf = _C
_missing_name = _missing.module_getattr(__name__)


def __getattr__(name):
    return getattr(_C, name) if hasattr(_C, name) else _missing_name(name)
