"""``torch.amp.GradScaler("cpu")`` under its older name."""

from rushlight import _missing
from rushlight.amp._older import scaler_of

__all__ = ["GradScaler"]
__getattr__ = _missing.module_getattr(__name__)

GradScaler = scaler_of("cpu")
