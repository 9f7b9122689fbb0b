"""TorchScript's decorators: code runs as it is."""

from rushlight import _missing

__all__ = [
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "unused",
]
__getattr__ = _missing.lacks(__name__)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Return the module, function or class as it is."""
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """Return the module or function as it is."""
    return func


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Return the module as it is; it must be in eval mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Return the module as it is."""
    return mod


def export(fn):
    """Return the method as it is."""
    return fn


def unused(fn):
    """Return the function as it is."""
    return fn


def script_if_tracing(fn):
    """Return the function as it is."""
    return fn


def ignore(drop=False, **kwargs):
    """Return the function as it is; with or without parentheses."""
    return drop if callable(drop) else lambda fn: fn


def interface(obj):
    """Return the class as it is."""
    return obj


def is_scripting():
    """Whether TorchScript runs: never."""
    return False


def is_tracing():
    """Whether a trace is being taken: never."""
    return False


def annotate(the_type, the_value):
    """Return the value."""
    return the_value


def save(m, f, _extra_files=None):
    """TorchScript archives cannot be written."""
    raise _missing.refuse("jit.save: save m.state_dict() with torch.save instead")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """TorchScript archives cannot be read."""
    raise _missing.refuse("jit.load: load a state_dict with torch.load instead")


class ScriptModule:
    """Never made: isinstance(m, torch.jit.ScriptModule) is False."""

    def __init__(self, *args, **kwargs):
        raise _missing.refuse("jit.ScriptModule")
