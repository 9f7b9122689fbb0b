"""Optimisers."""

from importlib import import_module

from rushlight import _missing

from .optimizer import Optimizer

# names and the modules that are imported when something first asks for them
_LAZY = {
    name: name.lower()
    for name in (
        "Adadelta",
        "Adagrad",
        "Adam",
        "Adamax",
        "AdamW",
        "ASGD",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
        "SGD",
    )
}
__all__ = ["Optimizer", *_LAZY]
_missing_name = _missing.lacks(__name__)


def __getattr__(name):
    home = _LAZY.get(name)
    if home is None:
        return _missing_name(name)
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
