"""Helpers."""

from rushlight import _missing

from . import hooks

__all__ = ["checkpoint", "collect_env", "data", "deterministic", "dlpack", "hooks"]
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def __getattr__(name):
    if name not in (
        *("_cxx_pytree", "_pytree"),
        *("checkpoint", "collect_env", "data", "deterministic", "dlpack"),
    ):
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
