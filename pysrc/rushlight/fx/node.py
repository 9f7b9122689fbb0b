"""A step of a graph; none is made."""

from rushlight import _missing

from . import Node, has_side_effect, map_arg

__all__ = ["Node", "has_side_effect", "map_arg"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
