"""What rushlight was built of, and how many threads it uses."""

import os

from . import _C, _settings
from .backends import cpu
from .version import __version__


def show() -> str:
    """Return what rushlight is built of, a line each; ``rushlight info`` tells more.

    Examples
    --------
    >>> print(torch.__config__.show().splitlines()[0])
    PyTorch built with:
    """
    from ._command import facts

    onednn, lapack = facts.onednn(), facts.lapack()
    lines = [
        f"rushlight {__version__}, in C ({_C._build()['mode']} build)",
        _C._build()["compiler"],
        f"oneDNN {onednn['version']}" if "version" in onednn else f"oneDNN not found ({onednn['reason']})",
        "LAPACK is rushlight's own" if "reason" in lapack else f"LAPACK is that of SciPy {lapack['version']}",
        f"CPU capability usage: {cpu.get_cpu_capability()}",
    ]
    return "\n  - ".join(["PyTorch built with:", *lines]) + "\n"


def parallel_info() -> str:
    """Return how many threads operators use, and what decides it.

    Examples
    --------
    >>> "get_num_threads" in torch.__config__.parallel_info()
    True
    """
    lines = [
        f"at::get_num_threads() : {_C.get_num_threads()}",
        f"at::get_num_interop_threads() : {_settings.get_num_interop_threads()}",
    ]
    threads = os.environ.get("OMP_NUM_THREADS", "[not set]")
    rest = f"Environment variables:\n\tOMP_NUM_THREADS : {threads}\nATen parallel backend: OpenMP\n"
    return "\n\t".join(["ATen/Parallel:", *lines]) + "\n" + rest
