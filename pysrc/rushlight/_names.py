"""The names of the package that are not of the C extension: further names, constants, Python functions."""

from math import e, inf, nan, pi

from . import (
    _C,
    _create,
    _deterministic,
    _einsum,
    _histogram,
    _layout_queries,
    _settings,
    _signal_windows,
    _tensor_functions,
    _types,
    functional,
)
from ._homes import adopt

_FUNCTION = type(lambda: None)
_CONSTANTS = {
    "float": _C.float32,
    "double": _C.float64,
    "half": _C.float16,
    "cdouble": _C.complex128,
    "cfloat": _C.complex64,
    "chalf": _C.complex32,
    "long": _C.int64,
    "int": _C.int32,
    "short": _C.int16,
    "e": e,
    "inf": inf,
    "nan": nan,
    "pi": pi,
    "newaxis": None,
    "_ctc_loss": _C._ctc_loss,
    "_mkldnn": _C._mkldnn,
    "has_lapack": True,
    "has_mkl": False,
    "has_openmp": True,
    "has_spectral": False,
    "legacy_contiguous_format": _C.contiguous_format,
}


def _written_in(module):
    """The public functions and classes that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", None) == module.__name__
    }


def public_names():
    """Return them all; what no module of PyTorch is known for calls itself the package's."""
    own = {}
    modules = (functional, _layout_queries, _create, _deterministic, _tensor_functions, _histogram, _einsum)
    for module in (*modules, _settings, _types, _signal_windows):
        own |= _written_in(module)
    own["range"] = _tensor_functions._range
    for name, value in own.items():
        adopt("rushlight.functional" if name in functional.__all__ else "rushlight", value)
    own |= {name: value for name, value in vars(_C).items() if name.startswith("_foreach_")}
    return {**_CONSTANTS, **_types._legacy_types(), **own}


def attach_methods():
    """Give Tensor the methods among them."""
    for name in ("isclose", "allclose", "equal", "is_nonzero", "unique", "unique_consecutive"):
        setattr(_C.Tensor, name, getattr(functional, name))
    _C.Tensor.histogram = _histogram.histogram
    # what stands in Python may be answered by classes and modes, as the rest is
    for name, member in list(vars(_C.Tensor).items()):
        if type(member) is _FUNCTION and (name[:2] != "__" or name == "__reversed__"):
            setattr(_C.Tensor, name, _C._overridable(member))
