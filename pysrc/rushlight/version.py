"""Which version this is."""

from ._missing import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
cuda = hip = xpu = None
debug = False
git_version = "unknown"
