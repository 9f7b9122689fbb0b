"""Switches of PyTorch's backends; they can be set and read. Those of attention and mha choose ways, those of
TF32 let GPUs round; others change nothing here."""

import sys
import types
from contextlib import contextmanager

from rushlight import _C, _missing, _precision
from rushlight._exports import _set_module

from . import _sdp, mha

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]


class _Backends(types.ModuleType):
    fp32_precision = _precision.switch("generic")


class _Cudnn(types.ModuleType):
    conv, rnn = (_precision.FP32Precision("cuda", op) for op in ("conv", "rnn"))
    fp32_precision = _precision.switch("cuda")
    allow_tf32 = property(lambda self: _precision.cudnn(), lambda self, value: _precision.set_cudnn(value))


class _Mkldnn(types.ModuleType):
    matmul, conv, rnn = (_precision.FP32Precision("mkldnn", op) for op in ("matmul", "conv", "rnn"))
    fp32_precision = _precision.switch("mkldnn", set_as="generic")  # as in PyTorch


def _backend(name, kind=types.ModuleType, **members):
    module = kind(f"{__name__}.{name}", f"Switches of {name}.")
    module.__dict__.update(members)
    module.__getattr__ = _missing.module_getattr(module.__name__)
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


@contextmanager
def _cudnn_flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
):
    """Set switches for a block."""
    wanted = dict(enabled=enabled, benchmark=benchmark, deterministic=deterministic, allow_tf32=allow_tf32)
    wanted |= dict(fp32_precision=fp32_precision, depthwise_kernel=depthwise_kernel)
    before = {name: getattr(cudnn, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(cudnn, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(cudnn, name, value)


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
    _Cudnn,
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    depthwise_kernel="auto",
    is_available=_answer(False),
    version=_answer(None),
    is_acceptable=_answer(False),
    flags=_cudnn_flags,
)
cuda = _backend(
    "cuda",
    **_sdp.OF_CUDA,
    is_built=_answer(False),
    matmul=_precision.Matmul(),
)
mkldnn = _backend(
    "mkldnn",
    _Mkldnn,
    enabled=True,
    allow_tf32=None,
    deterministic=False,
    is_available=_has_onednn,
    flags=_flags,
)
mkl = _backend("mkl", is_available=_answer(False))
mps = _backend("mps", is_built=_answer(False), is_available=_answer(False))
openmp = _backend("openmp", is_available=_answer(True))
cpu = _backend(
    "cpu",
    get_cpu_capability=get_cpu_capability,
    memory_stats=_C._memory_stats,
    empty_cache=_C._empty_cache,
)
_set_module(cuda.__name__, *_sdp.OF_CUDA.values())
_set_module(cpu.__name__, get_cpu_capability)
del get_cpu_capability
sys.modules[__name__].__class__ = _Backends
