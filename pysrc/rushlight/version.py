"""Which version this is; the build reads the number here, from the text."""

__version__ = "0.1.0"

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
cuda = hip = xpu = None
debug = False
git_version = "unknown"
