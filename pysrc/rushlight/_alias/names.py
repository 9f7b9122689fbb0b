"""What rushlight's classes and functions call themselves where ``import torch`` means rushlight.

Programs print classes, and pickles name them: both say ``torch.nn.modules.linear.Linear``, as with PyTorch.
Each module that is there, and each that is imported later, is known by its name of torch in ``sys.modules``,
where whoever reads ``__module__`` looks for it.
"""

import sys
from importlib.machinery import PathFinder

from .. import _exports, return_types  # noqa: F401  its types are made here, so that they are renamed
from .._import_hooks import Loader

_NAMED = type, type(lambda: None), type(len)


def _rename(value):
    home = getattr(value, "__module__", None)
    if type(home) is not str or home.partition(".")[0] != "rushlight":
        return
    try:
        value.__module__ = _exports.called(home)
    except (AttributeError, TypeError):  # a type that nobody may change
        return
    if isinstance(value, type):
        for inner in list(vars(value).values()):
            if isinstance(inner, type):
                _rename(inner)


def call_torch(module):
    """Let a module of rushlight, and what it defines, be known by its name of torch."""
    name = module.__name__
    module = sys.modules.get(name, module)  # it may have put another one in its place
    sys.modules.setdefault(_exports.called(name), module)
    for value in list(vars(module).values()):
        if isinstance(value, _NAMED):
            _rename(value)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("rushlight."):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, call_torch)
        return spec


def call_all_torch():
    """Do so for all modules, those to come included."""
    _exports.call_package("torch")
    for name, module in list(sys.modules.items()):
        if name == "rushlight" or name.startswith("rushlight."):
            if not name.startswith(("rushlight._alias", "rushlight._command")):
                call_torch(module)
    package = sys.modules["rushlight"]
    package.torch = package  # PyTorch's has itself by that name, and annotations say torch.torch.Tensor
    sys.meta_path.insert(0, _Finder)
