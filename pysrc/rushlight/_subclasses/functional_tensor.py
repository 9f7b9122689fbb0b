"""Tensors whose writes become new tensors: rushlight has none, and nothing is an instance."""

from rushlight import _C, _missing

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class FunctionalTensor(_C.Tensor):
    """Never made."""

    metadata_fns = ()

    def __new__(cls, *args, **kwargs):
        raise _missing.refuse("FunctionalTensor")
