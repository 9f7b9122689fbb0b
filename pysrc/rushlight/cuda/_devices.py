"""Which GPU is meant, and which one is current."""

from __future__ import annotations

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def extension() -> Any:
    """The extension of GPUs; raises PyTorch's error where there is none that can be used."""
    from rushlight import _device

    if not _device.cuda_driver():
        _device.refuse_cuda()
    return _device.cuda_extension()


def is_started():
    """Whether this process has used a GPU."""
    from rushlight import _device

    if not _device._cuda_devices:
        return False
    cuda = _device.cuda_extension()
    return any(cuda.in_use(i) for i in range(_device._cuda_devices))


def index_of(device, optional=True):
    """The number of a device, which may be a torch.device, a number or a text; None is the current one."""
    if type(device) is int:
        return device
    if device is None or isinstance(device, str):
        index = None if device is None else _C.device(device).index
    elif isinstance(device, _C.device):
        index = device.index
    else:
        index = getattr(device, "idx", None)
        if index is None:
            raise ValueError(f"Expected a torch.device or an int, but got: {device}")
    kind = device if isinstance(device, _C.device) else _C.device(device) if isinstance(device, str) else None
    if kind is not None and kind.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    if index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return extension().current() if index is None else index


class device:  # noqa: N801 - PyTorch's name
    """A block of code with another current GPU.

    Parameters
    ----------
    device : torch.device, int or str
        Negative numbers and None change nothing.
    """

    def __init__(self, device: Any):
        self.idx = -1 if device is None else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            cuda = extension()
            self.prev_idx = cuda.current()
            cuda.choose(self.idx)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> bool:
        if self.idx >= 0:
            extension().choose(self.prev_idx)
        return False


class device_of(device):  # noqa: N801 - PyTorch's name
    """A block of code on the GPU of a tensor; one of the CPU changes nothing."""

    def __init__(self, obj: Any):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _CudaDeviceProperties:
    """What a GPU says of itself."""

    def __init__(self, found):
        self.__dict__.update(found)

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def properties(index):
    """Return what a GPU says of itself."""
    from uuid import UUID

    count = extension().device_count()
    if not 0 <= index < count:
        raise AssertionError("Invalid device id")
    found = extension().properties(index)
    return _CudaDeviceProperties({**found, "uuid": UUID(bytes=found["uuid"])})
