"""Whether mixed precision can be had on GPUs."""

from __future__ import annotations

from importlib.util import find_spec

from rushlight import _missing, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["amp_definitely_not_available"]
__getattr__ = _missing.module_getattr(__name__)


def amp_definitely_not_available() -> Any:
    """Whether there is neither a GPU nor torch_xla."""
    return not (cuda.is_available() or find_spec("torch_xla"))
