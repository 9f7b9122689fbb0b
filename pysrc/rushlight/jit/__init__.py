"""TorchScript's decorators: code runs as it is."""

from __future__ import annotations

from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _T = TypeVar("_T")

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
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def script(
    obj: _T,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Callable[[str], Any] | None = None,
    example_inputs: list[tuple] | dict[Callable[..., Any], list[tuple]] | None = None,
) -> _T:
    """Return the module, function or class as it is."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the module or function as it is."""
    return func


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Return the module as it is; it must be in eval mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Return the module as it is."""
    return mod


def export(fn: Any) -> Any:
    """Return the method as it is."""
    return fn


def unused(fn: Any) -> Any:
    """Return the function as it is."""
    return fn


def script_if_tracing(fn: Any) -> Any:
    """Return the function as it is."""
    return fn


def ignore(drop: bool = False, **kwargs: Any) -> Any:
    """Return the function as it is; with or without parentheses."""
    return drop if callable(drop) else lambda fn: fn


def interface(obj: object) -> Any:
    """Return the class as it is."""
    return obj


def is_scripting() -> bool:
    """Whether TorchScript runs: never."""
    return False


def is_tracing() -> Any:
    """Whether a trace is being taken: never."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value."""
    return the_value


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """TorchScript archives cannot be written."""
    raise _missing.refuse("jit.save: save m.state_dict() with torch.save instead")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """TorchScript archives cannot be read."""
    raise _missing.refuse("jit.load: load a state_dict with torch.load instead")


class ScriptModule:
    """Never made: isinstance(m, torch.jit.ScriptModule) is False."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _missing.refuse("jit.ScriptModule")
