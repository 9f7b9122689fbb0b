"""Finds the extensions of devices other than the CPU, when something first asks for one."""

import os

_cuda_devices: int | None = None


def cuda_driver() -> int:
    """How many GPUs rushlight can use; registers their kernels at the first call that finds one.

    0 where rushlight was built without nvcc, and where no GPU or no driver is.
    """
    global _cuda_devices
    if _cuda_devices is None:
        _cuda_devices = _register_cuda()
    return _cuda_devices


def cuda_extension():
    """The extension of real GPUs, or in tests that of simulated ones."""
    if os.environ.get("RUSHLIGHT_CUDA_SIM"):
        from rushlight import _cuda_sim

        return _cuda_sim
    from rushlight import _cuda

    return _cuda


def _register_cuda() -> int:
    try:
        _cuda = cuda_extension()
    except ImportError:
        return 0
    count = _cuda.device_count()
    if count > 0:
        from rushlight import _C

        _C._register_device(_cuda.driver)
    return count
