"""Optimisers."""

from importlib import import_module

from rushlight import _missing

from .optimizer import Optimizer

# modules that are imported when something first asks for them, and names that live in them
_LAZY = {
    name: name.lower()
    for name in (
        *("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "LBFGS", "NAdam", "RAdam", "RMSprop"),
        *("Rprop", "SGD"),
    )
}
_LAZY |= {"Adafactor": "_adafactor", "Muon": "_muon", "SparseAdam": "sparse_adam"}
_LAZY |= {name: name for name in ("lr_scheduler", "swa_utils")}
_LAZY["swap_in_optimizer_params_and_state"] = "_stateless"
__all__ = ["Optimizer", *_LAZY]
_LAZY |= {home: home for home in _LAZY.values() if home[0] != "_"}
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__, _LAZY)


def __getattr__(name):
    home = _LAZY.get(name)
    if home is None:
        return _missing_name(name)
    module = import_module(f"{__name__}.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value
