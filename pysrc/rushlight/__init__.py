"""rushlight: PyTorch's nn.Module world as one small CPython extension."""

from . import _C
from ._C import *  # noqa: F403

__version__ = "0.1.0"
