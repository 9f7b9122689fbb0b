"""Finds the extensions of devices other than the CPU, when something first asks for one."""

_cuda_devices: int | None = None


def cuda_driver() -> int:
    """How many GPUs rushlight can use; registers their kernels at the first call that finds one.

    0 where rushlight was built without nvcc, and where no GPU or no driver is.
    """
    global _cuda_devices
    if _cuda_devices is None:
        _cuda_devices = _register_cuda()
    return _cuda_devices


def _register_cuda() -> int:
    try:
        from rushlight import _cuda
    except ImportError:
        return 0
    count = _cuda.device_count()
    if count > 0:
        from rushlight import _C

        _C._register_device(_cuda.driver)
    return count
