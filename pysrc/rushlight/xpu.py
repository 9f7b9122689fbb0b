"""GPUs of Intel: there are none."""

from . import _missing

__all__ = ["current_device", "device_count", "empty_cache", "get_device_name", "init", "is_available"]
__all__ += ["is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "set_device"]
__all__ += ["synchronize"]
__getattr__ = _missing.lacks(__name__)


def device_count():
    """Return the number of devices."""
    return 0


def is_available():
    """Whether there is a device that can be used."""
    return False


def is_initialized():
    """Whether a device was used already."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether a GPU computes with bfloat16."""
    return False


def empty_cache():
    """Give unused memory back to the GPUs: there is nothing to do."""


def manual_seed(seed):
    """Seed the GPU: there is nothing to do."""


def manual_seed_all(seed):
    """Seed the GPUs: there is nothing to do."""


def init():
    """Raise an AssertionError: there is no GPU."""
    raise AssertionError("Torch not compiled with XPU enabled")


def current_device():
    """Raise an AssertionError: there is no GPU."""
    init()


def set_device(device):
    """Raise an AssertionError: there is no GPU."""
    init()


def get_device_name(device=None):
    """Raise an AssertionError: there is no GPU."""
    init()


def synchronize(device=None):
    """Raise an AssertionError: there is no GPU."""
    init()
