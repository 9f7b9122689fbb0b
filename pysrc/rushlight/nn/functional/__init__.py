"""The functions behind the layers, by family: each file beside this one holds some of them."""

from rushlight import _exports, _missing

_exports.load(globals())
__all__ = _exports.public(__name__)
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def __getattr__(name):
    if not name.startswith("__"):
        from importlib import import_module

        scripts = import_module(f"{__name__}._scripts")
        if name in scripts.__all__:
            return getattr(scripts, name)
    return _missing_name(name)
