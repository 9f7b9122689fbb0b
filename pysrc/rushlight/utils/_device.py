"""The device of new tensors, as a decorator and as a mode; ``with torch.device(...)`` is the same."""

from rushlight import _C
from rushlight.overrides import TorchFunctionMode

from ._contextlib import context_decorator


def __getattr__(name):
    if name == "CURRENT_DEVICE":  # of this thread
        device = _C.get_default_device()
        return None if device.type == "cpu" else device
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class DeviceContext(TorchFunctionMode):
    """Make new tensors on a device, within the context: what ``with torch.device(...)`` does."""

    def __init__(self, device):
        self.device = _C.device(device)

    def __enter__(self):
        self.device.__enter__()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.device.__exit__(exc_type, exc_val, exc_tb)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        with self.device:
            return func(*args, **(kwargs or {}))


def device_decorator(device, func):
    """Make what calls of a function make on a device."""
    return context_decorator(lambda: device, func)


def set_device(device):
    """Return a decorator: new tensors of the function's calls lie on the device."""
    return lambda func: device_decorator(_C.device(device), func)
