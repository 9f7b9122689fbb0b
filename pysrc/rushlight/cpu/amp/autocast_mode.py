"""``torch.amp.autocast("cpu")`` under its older name."""

from rushlight import _C, _missing
from rushlight.amp._older import autocast_of

__all__ = ["autocast"]
__getattr__ = _missing.module_getattr(__name__)

autocast = autocast_of("cpu", _C.bfloat16)
