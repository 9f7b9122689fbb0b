"""Mixed precision: operators compute in lower precision where that is safe, and gradients are scaled.

See https://docs.pytorch.org/docs/2.13/amp.html
"""
# ruff: noqa: F401

from rushlight import _missing

from .autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
