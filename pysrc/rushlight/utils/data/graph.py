"""The graph of DataPipes that stand on each other; there are none here, so asking raises."""

from __future__ import annotations

from rushlight import _missing

from .datapipes.datapipe import _refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["traverse", "traverse_dps"]
__getattr__ = _missing.module_getattr(__name__)


def traverse_dps(datapipe: Any) -> Any:
    """Would return the DataPipes that one stands on; raises NotImplementedError."""
    raise _refuse("traverse_dps")


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> Any:
    """Would return what a DataPipe stands on; raises NotImplementedError."""
    raise _refuse("traverse")
