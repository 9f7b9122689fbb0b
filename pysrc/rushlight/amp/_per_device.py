"""``torch.is_autocast_cpu_enabled()`` and its kin, which name the type of device; each call warns."""

from rushlight import _C
from rushlight._deprecated import deprecated

_DEVICES = {"cpu": "cpu", "gpu": "cuda", "xla": "xla", "ipu": "ipu"}
_KINDS = {
    "is_enabled": ("", None, _C.is_autocast_enabled),
    "set_enabled": ("enabled", bool, _C.set_autocast_enabled),
    "get_dtype": ("", None, _C.get_autocast_dtype),
    "set_dtype": ("dtype", _C.dtype, _C.set_autocast_dtype),
}


def _checked(title, parameter, type_, args):
    if len(args) != bool(parameter):
        takes = "exactly one argument" if parameter else "no arguments"
        raise TypeError(f"torch.{title}() takes {takes} ({len(args)} given)")
    if parameter and not isinstance(args[0], type_):
        wanted = "bool" if type_ is bool else "torch.dtype"
        raise TypeError(f"{parameter} must be a {wanted} (got {type(args[0]).__name__})")


def _function(name, kind):
    verb, what = kind.split("_")
    parameter, type_, state = _KINDS[kind]
    title, device = f"{verb}_autocast_{name}_{what}", _DEVICES[name]
    newer = f"torch.{verb}_autocast_{what}('{device}'{parameter and ', ' + parameter})"

    @deprecated(f"torch.{title}({parameter}) is deprecated. Please use {newer} instead.")
    def function(*args):
        return state(device, *args)

    def checked(*args):
        _checked(title, parameter, type_, args)
        return function(*args)

    checked.__name__ = checked.__qualname__ = title
    checked.__doc__ = f"See ``{newer}``."
    checked.__module__ = "rushlight"
    return checked


def names():
    """The functions by their names."""
    made = [_function(name, kind) for name in _DEVICES for kind in _KINDS]
    return {each.__name__: each for each in made if "gpu_enabled" not in each.__name__}


globals().update(names())
