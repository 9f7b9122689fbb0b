"""Names of the package that are no functions, and methods of Tensor that are functions of it."""

from math import e, inf, nan, pi

from . import _C, _histogram, _types, functional

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


def constants():
    """Return what is no function: dtypes by their other names, numbers, classes of older code."""
    foreach = {name: value for name, value in vars(_C).items() if name.startswith("_foreach_")}
    return {**_CONSTANTS, **_types._legacy_types(), **foreach}


def attach_methods():
    """Give Tensor the methods among them."""
    for name in ("isclose", "allclose", "equal", "is_nonzero", "unique", "unique_consecutive"):
        setattr(_C.Tensor, name, getattr(functional, name))
    _C.Tensor.histogram = _histogram.histogram
    _C._log_api_usage_once = _log_api_usage_once
    _C._are_functorch_transforms_active = _are_functorch_transforms_active
    # what stands in Python may be answered by classes and modes, as the rest is
    for name, member in list(vars(_C.Tensor).items()):
        if type(member) is _FUNCTION and (name[:2] != "__" or name == "__reversed__"):
            setattr(_C.Tensor, name, _C._overridable(member))


def _log_api_usage_once(event, /):
    """Do nothing: PyTorch tells a logger, which nobody installs, that something was used."""


def _are_functorch_transforms_active():
    """Return whether a function transform such as vmap is at work: never, there are none."""
    return False
