"""Puts batches where a device can read them directly."""

from collections.abc import Mapping, Sequence

from rushlight import _missing
from rushlight._C import Tensor

from .collate import is_namedtuple, mapping_like, sequence_like

__getattr__ = _missing.module_getattr(__name__)


def pin_memory(data, device=None):
    """Return the data with its tensors in pinned memory, and whatever else has a method pin_memory."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return mapping_like(data, {key: pin_memory(value, device) for key, value in data.items()})
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        return data
    values = [pin_memory(value, device) for value in data]
    return type(data)(*values) if is_namedtuple(data) else sequence_like(data, values)
