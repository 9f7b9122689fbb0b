"""Finds the extensions of devices other than the CPU, when something first asks for one."""

import os
import sys
from _imp import extension_suffixes as _suffixes_of_extensions

_SUFFIXES = _suffixes_of_extensions()
_cuda_devices: int | None = None
_DRIVER = 580  # the first branch of NVIDIA's driver that serves CUDA 13
_DOWNLOAD = "http://www.nvidia.com/Download/index.aspx"
_NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver "
    f"from {_DOWNLOAD}"
)
_OLD_DRIVER = (
    f"The NVIDIA driver on your system is too old (found version {{}}): CUDA 13 needs driver {_DRIVER} or "
    "newer. Please update your GPU driver by downloading and installing a new version from the URL: "
    f"{_DOWNLOAD}"
)


def cuda_driver() -> int:
    """How many GPUs rushlight can use; registers their kernels at the first call that finds one.

    0 where rushlight was built without nvcc, and where no GPU or no driver is.
    """
    global _cuda_devices
    if not _cuda_devices:
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
        _C._make_generators(count)
    return count


def refuse_cuda():
    """Raise what PyTorch raises where a GPU is asked for and there is none."""
    try:
        _cuda = cuda_extension()
    except ImportError:
        raise AssertionError("Torch not compiled with CUDA enabled") from None
    version = _cuda.driver_version()
    if version == 0:
        raise RuntimeError(_NO_DRIVER)
    if version < 13000:
        raise RuntimeError(_OLD_DRIVER.format(version))
    raise RuntimeError(_cuda.last_error() or "No CUDA GPUs are available")


# ---- without the driver: Note [Call metadata] ----
# Asking CUDA takes up to a second and makes every later fork unusable for CUDA; NVML takes milliseconds. So
# until something is computed on a GPU, the files of NVIDIA's kernel module say how many there are.
def visible_devices() -> int:
    """How many GPUs there seem to be; starts nothing."""
    if os.environ.get("RUSHLIGHT_CUDA_SIM"):
        return cuda_driver()
    if _cuda_devices:
        return _cuda_devices
    files = _device_files()
    if not files or not _is_built() or not _driver_serves():
        return 0
    return len(_asked_for(files))


def _is_built():
    """Is the extension there? importlib.util would know, but takes milliseconds to import."""
    if "rushlight._cuda" in sys.modules:
        return sys.modules["rushlight._cuda"] is not None
    folders = sys.modules["rushlight"].__path__
    return any(
        os.path.exists(os.path.join(folder, "_cuda" + suffix)) for folder in folders for suffix in _SUFFIXES
    )


def _driver_serves():
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:
            return int(file.read().split(".")[0]) >= _DRIVER
    except (OSError, ValueError):
        return True  # it hides: CUDA will say


def _device_files():
    try:
        names = os.listdir("/dev")
    except OSError:
        return []
    found = [name for name in names if name.startswith("nvidia") and name[6:].isdigit()]
    return found or [name for name in names if name == "dxg"]  # of Windows, which counts for one


def _asked_for(files):
    """Those that CUDA_VISIBLE_DEVICES leaves: CUDA stops at the first entry that names none."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return files
    left = []
    for entry in (entry.strip() for entry in asked.split(",")):
        known = entry.startswith(("GPU-", "MIG-")) or (entry.isdigit() and int(entry) < len(files))
        if not known or entry in left or len(left) == len(files) and not entry.startswith("MIG-"):
            break
        left.append(entry)
    return left
