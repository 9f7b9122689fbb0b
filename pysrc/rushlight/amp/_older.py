"""The classes of ``torch.amp`` as they were, one for each type of device; each use warns."""

from __future__ import annotations

from rushlight import amp
from rushlight._deprecated import deprecated
from rushlight._exports import _set_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.types import Device


def _named(home, cls):
    """Make it the class of a module, for pickles and texts."""
    _set_module(home, cls)
    cls.__qualname__ = cls.__name__
    return cls


def autocast_of(device: Device, default: Any) -> Any:
    """Make the class ``torch.<device>.amp.autocast``."""

    class autocast(amp.autocast):
        """See ``torch.autocast``."""

        def __init__(self, enabled=True, dtype=default, cache_enabled=True):
            super().__init__(device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    text = (
        f"`torch.{device}.amp.autocast(args...)` is deprecated. "
        f"Please use `torch.amp.autocast('{device}', args...)` instead."
    )
    return _named(f"rushlight.{device}.amp.autocast_mode", deprecated(text, FutureWarning)(autocast))


def scaler_of(device: Device) -> Any:
    """Make the class ``torch.<device>.amp.GradScaler``."""

    class GradScaler(amp.GradScaler):
        """See ``torch.amp.GradScaler``."""

        @deprecated(
            f"`torch.{device}.amp.GradScaler(args...)` is deprecated. "
            f"Please use `torch.amp.GradScaler('{device}', args...)` instead.",
            FutureWarning,
        )
        def __init__(
            self,
            init_scale=2.0**16,
            growth_factor=2.0,
            backoff_factor=0.5,
            growth_interval=2000,
            enabled=True,
        ):
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return _named(f"rushlight.{device}.amp.grad_scaler", GradScaler)
