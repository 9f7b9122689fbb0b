"""A module that was traced; none is made."""

from rushlight import _missing

from . import GraphModule

__all__ = ["GraphModule"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
