"""The named tuples that operators with several results answer, by the names of these operators."""

from . import _C

globals().update(_C._return_types())
__all__ = sorted(_C._return_types())
