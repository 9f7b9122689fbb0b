"""Switches of PyTorch's backends; they can be set and read. Those of attention and mha choose ways; others
change nothing here."""

import sys
import types

from rushlight import _C, _homes, _missing

from . import _sdp, mha

__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)
__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]


def _backend(name, **members):
    module = types.ModuleType(f"{__name__}.{name}", f"Switches of {name}.")
    module.__dict__.update(members)
    module.__getattr__ = _missing.lacks(module.__name__)
    sys.modules[module.__name__] = module
    return module


class _flags:
    """Accepts the flags of a backend for a block."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        pass


def _answer(value):
    def answer(*args):
        return value

    return answer


def _has_onednn():
    from rushlight import _onednn

    _onednn.offer()
    return _C._dnnl_open()


def get_cpu_capability() -> str:
    """Return the widest vectors that rushlight's kernels use here: "DEFAULT", "AVX2" or "AVX512".

    RUSHLIGHT_ISA and RUSHLIGHT_KERNELS limit them. oneDNN decides for itself. See
    https://docs.pytorch.org/docs/2.13/backends.html#torch.backends.cpu.get_cpu_capability

    Examples
    --------
    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    return _C._get_cpu_capability()


cudnn = _backend(
    "cudnn",
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    is_available=_answer(False),
    version=_answer(None),
    is_acceptable=_answer(False),
    flags=_flags,
)
cuda = _backend(
    "cuda",
    **_sdp.OF_CUDA,
    is_built=_answer(False),
    matmul=types.SimpleNamespace(
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    ),
)
_homes.adopt(cuda.__name__, *_sdp.OF_CUDA.values())
mkldnn = _backend("mkldnn", enabled=True, is_available=_has_onednn, flags=_flags)
mkl = _backend("mkl", is_available=_answer(False))
mps = _backend("mps", is_built=_answer(False), is_available=_answer(False))
openmp = _backend("openmp", is_available=_answer(True))
cpu = _backend(
    "cpu",
    get_cpu_capability=get_cpu_capability,
    memory_stats=_C._memory_stats,
    empty_cache=_C._empty_cache,
)
_homes.adopt(cpu.__name__, get_cpu_capability)
del get_cpu_capability
