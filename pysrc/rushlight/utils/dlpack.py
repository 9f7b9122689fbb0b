"""DLPack: tensors to and from other libraries without copying."""

from __future__ import annotations

import enum

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.types import Device

__all__ = ["DLDeviceType", "from_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Name the types of devices, as DLPack counts them.

    Examples
    --------
    >>> torch.zeros(1).__dlpack_device__() == (torch.utils.dlpack.DLDeviceType.kDLCPU, 0)
    True
    """

    kDLCPU = (1,)
    kDLCUDA = (2,)
    kDLCUDAHost = (3,)
    kDLOpenCL = (4,)
    kDLVulkan = (7,)
    kDLMetal = (8,)
    kDLVPI = (9,)
    kDLROCM = (10,)
    kDLROCMHost = (11,)
    kDLExtDev = (12,)
    kDLCUDAManaged = (13,)
    kDLOneAPI = (14,)
    kDLWebGPU = (15,)
    kDLHexagon = (16,)
    kDLMAIA = (17,)


def _number_of(device):
    """Return DLPack's pair for a device."""
    if device.type not in ("cpu", "cuda"):
        raise BufferError(f"Cannot pack tensors on {device}")
    kind = DLDeviceType.kDLCPU if device.type == "cpu" else DLDeviceType.kDLCUDA
    return kind, device.index or 0


def _device_of(pair, function):
    if not isinstance(pair, tuple) or not all(isinstance(number, int) for number in pair):
        raise TypeError(
            f"{function}(): argument 'dl_device' must be tuple of ints, not {type(pair).__name__}"
        )
    if pair[0] not in (1, 2):
        raise BufferError(f"Unsupported device_type: {int(pair[0])}")
    return _C.device("cpu") if pair[0] == 1 else _C.device("cuda", pair[1])


def _lend(tensor, dl_device, copy, versioned):
    function = "_to_dlpack_versioned" if versioned else "_to_dlpack"
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"{function}(): argument 'copy' must be bool, not {type(copy).__name__}")
    device = tensor.device if dl_device is None else _device_of(dl_device, function)
    if device != tensor.device:
        if copy is False:
            raise ValueError(
                f"cannot move (i.e. copy=False) tensor from {tensor.device} to {device} without copying."
            )
        return _C._dlpack_lend(tensor.to(device), versioned)
    return _C._dlpack_lend(tensor.clone() if copy else tensor, versioned)


def _export(tensor, stream, max_version, dl_device, copy):
    """Tensor.__dlpack__'s work."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if tensor.is_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return _lend(tensor, dl_device, copy, max_version is not None and max_version[0] >= 1)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a capsule on the tensor's memory: older libraries ask for one, others for the tensor itself."""
    if not isinstance(tensor, _C.Tensor):
        given = type(tensor).__name__
        raise TypeError(f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {given}")
    return _lend(tensor, None, None, False)


_C._to_dlpack = to_dlpack  # what pickles of PyTorch call it


def _ask(producer, wanted):
    """Return a capsule and what the producer did not understand: older ones know fewer arguments."""
    wanted = dict(wanted)
    for name in ("max_version", "copy", "dl_device"):
        try:
            return producer.__dlpack__(**wanted), wanted
        except TypeError:
            wanted.pop(name, None)
    return producer.__dlpack__(**wanted), wanted


def from_dlpack(ext_tensor: Any, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """Convert a tensor of another library, such as a NumPy array, through DLPack; the memory is shared.

    Parameters
    ----------
    ext_tensor : object
        Has ``__dlpack__``, or is a DLPack capsule, which can be taken once.
    device : device, optional
        Where the tensor goes; where it is if not given.
    copy : bool, optional
        True copies always, False never; None copies if the device differs.

    Returns
    -------
    Tensor
        Tensor on the same memory or a copy.

    Raises
    ------
    ValueError
        If `copy` is False and the device differs.
    AssertionError
        If `device` or `copy` is given for a capsule.

    Notes
    -----
    Same as torch.from_dlpack: https://docs.pytorch.org/docs/2.13/generated/torch.from_dlpack.html

    Examples
    --------
    >>> array = np.zeros(3)
    >>> tensor = torch.from_dlpack(array)
    >>> tensor[0] = 1
    >>> array
    array([1., 0., 0.])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _C._from_dlpack(ext_tensor)
    wanted, moved = {"max_version": (1, 0)}, False
    if copy is not None:
        wanted["copy"] = copy
    source = ext_tensor.__dlpack_device__()
    if device is not None:
        device = _C.device(device) if isinstance(device, str) else device
        if not isinstance(device, _C.device):
            raise AssertionError(f"from_dlpack: unsupported device type: {type(device)}")
        target = _number_of(device)
        moved = source != target
        if not moved:
            wanted["dl_device"] = target
        elif copy is False:
            raise ValueError(
                f"cannot move DLPack tensor from device {source} to {target} "
                "without copying. Set copy=None or copy=True."
            )
    if source[0] == DLDeviceType.kDLCUDA:
        wanted["stream"] = 1  # the legacy default stream, on which all kernels run
    capsule, understood = _ask(ext_tensor, wanted)
    tensor = _C._from_dlpack(capsule)
    if copy is True and "copy" not in understood and not moved:
        tensor = tensor.clone()
    return tensor.to(device) if moved else tensor
