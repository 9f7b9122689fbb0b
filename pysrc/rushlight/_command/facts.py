"""What a bug report needs to know: this build, the machine, the libraries, the switches."""

import os
import platform
import struct
import sys

from .. import _C
from ..version import __version__

_SWITCHES = ("RUSHLIGHT_", "OMP_", "GOMP_", "KMP_", "ONEDNN_", "DNNL_", "OPENBLAS_", "MKL_", "TORCH_")
_SINGLE_SWITCHES = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH")
_FEATURES = (
    *("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"),
    *("avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimddp", "asimdhp", "bf16", "i8mm", "sve", "sve2", "sme"),
)


def _first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


# ---- this build and its Python ----
def _package():
    return {
        "version": __version__,
        "folder": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "extension": os.path.basename(_C.__file__),
        **{name: value for name, value in _C._build().items() if name != "python"},
    }


def _python():
    return {
        "version": platform.python_version(),
        "built_for": _C._build()["python"],
        "implementation": platform.python_implementation(),
        "bits": struct.calcsize("P") * 8,
        "executable": sys.executable or "",
        "virtual_environment": sys.prefix != sys.base_prefix,
    }


# ---- the machine ----
def _libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):  # musl
        return " ".join(platform.libc_ver()).strip()


def _system():
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        distribution = ""
    kernel = os.uname()
    return {
        "name": kernel.sysname,
        "release": kernel.release,
        "machine": kernel.machine,
        "distribution": distribution,
        "libc": _libc(),
    }


def _cpu_fields():
    """The fields of /proc/cpuinfo for the first CPU."""
    fields = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for text in iter(file.readline, ""):
                name, colon, value = text.partition(":")
                if not colon and fields:
                    break
                fields[name.strip()] = value.strip()
    except OSError:
        pass
    return fields


def _why_one_thread():
    """Return why operators do not share their work between threads; None where they do."""
    import ctypes

    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError as error:
        return str(error)


def _processor():
    fields = _cpu_fields()
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    online, allowed = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    granted = _C._cpu_count(None, online, allowed, "")
    return {
        "model": fields.get("model name") or fields.get("Model") or platform.machine(),
        "capability": _C._get_cpu_capability(),
        "features": [name for name in _FEATURES if name in flags],
        "online": online,
        "allowed": allowed,
        "cgroup_limit": granted if granted < allowed else None,
        "threads": _C.get_num_threads(),
        "one_thread": _why_one_thread(),
    }


def _cgroup_memory(root=""):
    """The least memory limit of this process's cgroup and those above it, or None."""
    limits = []
    try:
        with open(f"{root}/proc/self/cgroup", encoding="utf-8") as file:
            groups = [text.rstrip("\n").split(":", 2) for text in file]
    except OSError:
        return None
    for _, controllers, path in (group for group in groups if len(group) == 3):
        if controllers not in ("", "memory"):
            continue
        top, name = ("", "memory.max") if not controllers else ("/memory", "memory.limit_in_bytes")
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            text = _first_line("/".join([f"{root}/sys/fs/cgroup{top}", *parts[:depth], name]))
            limits += [int(text)] if text.isdecimal() else []
    return min(limits, default=None)


def _memory():
    numbers = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for text in file:
                name, _, value = text.partition(":")
                numbers[name] = int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    total, limit = numbers.get("MemTotal"), _cgroup_memory()
    return {
        "total": total,
        "available": numbers.get("MemAvailable"),
        "cgroup_limit": limit if limit is not None and (total is None or limit < total) else None,
        "cache_limit": _C._memory_stats()["cap_bytes"],
    }


# ---- libraries ----
def _version_of(package):
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def onednn():
    """Return the path and version of oneDNN, or the reason why it does not serve."""
    from .. import _onednn as finder

    found = finder.find()
    if found is None:
        return {"reason": f"RUSHLIGHT_ONEDNN={os.environ.get('RUSHLIGHT_ONEDNN', '')}"}
    finder.offer()
    with _quiet():
        _C._dnnl_open()
    about = _C._dnnl_about()
    if "reason" in about and found == finder.NAME and _version_of("onednn-cpu-gomp") is None:
        return {"reason": f"neither the package onednn-cpu-gomp nor {found} is installed"}
    return about


def _quiet():
    import warnings

    return warnings.catch_warnings(action="ignore")


def lapack():
    """Return the version of SciPy whose LAPACK serves, or the reason why none does."""
    from .. import _scipy

    reason, version = _scipy.find(), _version_of("scipy")
    if reason is None:
        return {"version": version}
    return {"reason": reason if version or "=" in reason else "SciPy is not installed"}


def _numpy():
    try:
        import numpy
    except Exception as error:  # whatever a broken NumPy raises
        return {
            "reason": f"{type(error).__name__}: {error}" if _version_of("numpy") else "it is not installed"
        }
    return {"version": numpy.__version__, "path": os.path.dirname(numpy.__file__)}


def _cuda():
    import importlib.util

    if importlib.util.find_spec("rushlight._cuda") is None:
        return {"reason": "this build has no CUDA extension"}
    try:
        from rushlight import _cuda
    except ImportError as error:
        return {"reason": f"the extension cannot be loaded: {error}"}
    devices = _cuda.device_count()
    if devices == 0:
        return {"reason": f"no GPU was found: {_cuda.last_error() or 'no reason was given'}"}
    return {"devices": devices}


def _packages():
    names = ("onednn-cpu-gomp", "numpy", "scipy", "safetensors", "torch")
    return {name: _version_of(name) for name in names}


def _environment():
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_SWITCHES) or name in _SINGLE_SWITCHES
    }


def collect():
    """Return all facts: a dict of dicts of numbers, texts, lists and None."""
    return {
        "schema": 1,
        "rushlight": _package(),
        "python": _python(),
        "system": _system(),
        "processor": _processor(),
        "memory": _memory(),
        "onednn": onednn(),
        "lapack": lapack(),
        "numpy": _numpy(),
        "cuda": _cuda(),
        "packages": _packages(),
        "environment": _environment(),
    }
