"""Helpers around parameters."""

from rushlight import _missing

from .clip_grad import _clip_grads_with_norm_ as clip_grads_with_norm_
from .clip_grad import _get_total_norm as get_total_norm
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_
from .convert_parameters import parameters_to_vector, vector_to_parameters

# these hide the modules that they come from, so they cannot wait until they are asked for
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

# modules that are imported when something first asks for them, and functions that live in them
_LAZY = {
    name: name
    for name in (
        *("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "rnn", "stateless"),
    )
}
_FUNCTIONS = {
    f"fuse_{kind}_bn_{what}": "fusion" for kind in ("conv", "linear") for what in ("eval", "weights")
}
_FUNCTIONS |= {f"convert_conv{n}d_weight_memory_format": "memory_format" for n in (2, 3)}
_FUNCTIONS |= {"skip_init": "init"}
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, {*_LAZY, *_FUNCTIONS})

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
    *_FUNCTIONS,
]


def __getattr__(name):
    home = _LAZY.get(name) or _FUNCTIONS.get(name)
    if home is None:
        return _missing_name(name)
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    value = globals()[name] = getattr(module, name) if name in _FUNCTIONS else module
    return value
