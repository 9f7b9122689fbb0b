"""What code asks of TorchDynamo's helpers."""

from __future__ import annotations

from collections import Counter, defaultdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["counters", "is_compile_supported"]
counters: Any = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether code for a device can be compiled: no."""
    from rushlight._C import device

    device(device_type)
    return False
