"""Helpers."""

from rushlight import _missing

from . import hooks as hooks

_LATER = (
    "_contextlib _cxx_pytree _device _python_dispatch _pytree benchmark checkpoint collect_env data "
    "deterministic dlpack model_zoo weak"
).split()
__all__ = sorted(["hooks", *(name for name in _LATER if name[0] != "_")])
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def __getattr__(name):
    if name not in _LATER:
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
