"""The graph of DataPipes that stand on each other; there are none here, so asking raises."""

from rushlight import _missing

from .datapipes.datapipe import _refuse

__all__ = ["traverse", "traverse_dps"]
__getattr__ = _missing.lacks(__name__)


def traverse_dps(datapipe):
    """Would return the DataPipes that one stands on; raises NotImplementedError."""
    raise _refuse("traverse_dps")


def traverse(datapipe, only_datapipe=None):
    """Would return what a DataPipe stands on; raises NotImplementedError."""
    raise _refuse("traverse")
