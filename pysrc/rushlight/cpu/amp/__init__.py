"""The names of ``torch.amp`` for the CPU, as they were before; each warns."""
# ruff: noqa: F401

from rushlight import _missing

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__getattr__ = _missing.module_getattr(__name__)
