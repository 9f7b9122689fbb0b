"""What optimisers ask before they hand whole lists to ``torch._foreach_*``."""

from typing import TypeAlias

import rushlight
from rushlight._C import Tensor

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices():
    """Return the types of devices on which optimisers take lists unless they are told not to."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices():
    """Return the types of devices on which optimisers have a kernel for whole steps."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_has_foreach_support(device):
    """Whether functions over lists take tensors of this device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors, device):
    """Whether they take these tensors, whose class may have functions of its own."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )


def _belongs(tensor, device, dtype):
    """Whether a tensor may stand beside a parameter: counts of steps and states in half precision may."""
    if tensor is None or (tensor.device == device and tensor.dtype == dtype):
        return True
    counts = tensor.device.type == "cpu" and tensor.dtype in (rushlight.float32, rushlight.float64)
    return counts or (tensor.device == device and tensor.dtype == rushlight.bfloat16)


def _check_lists(lists):
    first = lists[0] if lists else ()
    if not len(first):
        raise RuntimeError("Expected a list of tensors in front, which is not empty")
    if any(len(tensors) not in (0, len(first)) for tensors in lists):
        raise RuntimeError("Expected lists of one length, or empty ones")
    for i, tensor in enumerate(first):
        if tensor is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined "
                f"but the {i}-th Tensor is not."
            )
        if not all(_belongs(other[i], tensor.device, tensor.dtype) for other in lists if other):
            raise RuntimeError(
                "Tensors of the same index must be on the same device and the same dtype except `step` "
                "tensors that can be CPU and float32/64, and optimizer states that can be bfloat16 for "
                "mixed-precision training"
            )


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Split lists, of which the i-th tensors belong together, by device and dtype of the first list.

    Returns ``{(device, dtype): (lists, indices)}``; an empty list stays empty, None stays where it is, and
    without ``with_indices`` there are none.
    """
    _check_lists(tensorlistlist)
    places = {}
    for i, tensor in enumerate(tensorlistlist[0]):
        places.setdefault((tensor.device, tensor.dtype), []).append(i)
    return {
        key: ([[tensors[i] for i in at] if tensors else [] for tensors in tensorlistlist], at * with_indices)
        for key, at in places.items()
    }
