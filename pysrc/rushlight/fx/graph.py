"""Steps of what was traced; none is made."""

from rushlight import _missing

from . import Graph

__all__ = ["Graph"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
