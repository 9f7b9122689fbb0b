"""What rushlight was built of, and how many threads it uses."""

from . import _C, _settings
from .backends import cpu, mkldnn
from .version import __version__


def show():
    """Return what rushlight is built of, a line each."""
    lines = [
        f"rushlight {__version__}, in C",
        f"oneDNN: {'found' if mkldnn.is_available() else 'not found'}",
        f"CPU capability usage: {cpu.get_cpu_capability()}",
    ]
    return "\n  - ".join(["PyTorch built with:", *lines]) + "\n"


def parallel_info():
    """Return how many threads operators use."""
    lines = [
        f"at::get_num_threads() : {_C.get_num_threads()}",
        f"at::get_num_interop_threads() : {_settings.get_num_interop_threads()}",
    ]
    return "\n\t".join(["ATen/Parallel:", *lines]) + "\nATen parallel backend: OpenMP\n"
