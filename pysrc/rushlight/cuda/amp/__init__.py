"""The names of ``torch.amp`` for GPUs, as they were before; each warns."""

from rushlight import _missing

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .common import amp_definitely_not_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
__getattr__ = _missing.module_getattr(__name__)
