"""``torch.amp.GradScaler("cuda")`` under its older name."""

from rushlight import _missing
from rushlight.amp._older import scaler_of
from rushlight.amp.grad_scaler import OptState  # noqa: F401

__all__ = ["GradScaler"]
__getattr__ = _missing.module_getattr(__name__)

GradScaler = scaler_of("cuda")
