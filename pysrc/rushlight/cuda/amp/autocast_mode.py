"""``torch.amp.autocast("cuda")`` and its kin under their older names."""

from __future__ import annotations

from rushlight import _C, _missing, amp
from rushlight._deprecated import deprecated
from rushlight.amp import autocast_mode
from rushlight.amp._older import autocast_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
__getattr__ = _missing.module_getattr(__name__)


autocast = autocast_of("cuda", _C.float16)


@deprecated(
    "`torch.cuda.amp.autocast_mode._cast(value, dtype)` is deprecated. "
    "Please use `torch.amp.autocast_mode._cast(value, 'cuda', dtype)` instead.",
    FutureWarning,
)
def _cast(value, dtype):
    return autocast_mode._cast(value, "cuda", dtype)


@deprecated(
    "`torch.cuda.amp.custom_fwd(args...)` is deprecated. "
    "Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
    FutureWarning,
)
def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """See ``torch.amp.custom_fwd``."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


@deprecated(
    "`torch.cuda.amp.custom_bwd(args...)` is deprecated. "
    "Please use `torch.amp.custom_bwd(args..., device_type='cuda')` instead.",
    FutureWarning,
)
def custom_bwd(bwd: Any) -> Any:
    """See ``torch.amp.custom_bwd``."""
    return amp.custom_bwd(bwd, device_type="cuda")
