"""What GradScaler keeps for each device and optimizer."""

from __future__ import annotations

from collections import abc, defaultdict
from enum import Enum

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from rushlight._C import Tensor

    _Outputs = TypeVar("_Outputs", bound=Tensor | abc.Iterable[Any])


class _MultiDeviceReplicator:
    """Copies of a tensor on the devices that ask for one."""

    def __init__(self, master_tensor):
        self.master = master_tensor
        self._per_device_tensors = {}

    def get(self, device):
        copies = self._per_device_tensors
        if device not in copies:
            copies[device] = self.master.to(device=device, non_blocking=True, copy=True)
        return copies[device]


class OptState(Enum):
    """What was done for an optimizer in this iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _scalar(value, dtype, device):
    return _C.full((), value, dtype=dtype, device=device)


def _require(truth, text):
    if not truth:
        raise AssertionError(text)


def _gradients(optimizer, allow_fp16):
    """The gradients by device and dtype."""
    found = defaultdict(lambda: defaultdict(list))
    for group in optimizer.param_groups:
        for param in group["params"]:
            is_tensor = isinstance(param, _C.Tensor)
            _require(is_tensor, f"expected param to be torch.Tensor, got {type(param).__name__}")
            if param.grad is None:
                continue
            if not allow_fp16 and param.grad.dtype == _C.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            found[param.grad.device][param.grad.dtype].append(param.grad)
    return found
