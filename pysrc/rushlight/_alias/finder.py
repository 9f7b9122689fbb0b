"""Finds ``torch`` and ``torch.*`` where rushlight has them."""

import importlib
import sys
from importlib.machinery import ModuleSpec

from ..version import __version__


def _real_name(name):
    return "rushlight" + name[len("torch") :]


def _is_import():
    """Whether find_spec was called by an import statement rather than by importlib.util.find_spec."""
    frame = sys._getframe(2)  # 1 is the finder, 2 importlib's loop over finders
    return frame.f_back is not None and frame.f_back.f_code.co_name == "_find_and_load_unlocked"


class _Loader:
    def __init__(self, module):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        # the import system has just put the alias's spec there
        module.__spec__ = self.spec

    def get_code(self, name):
        loader = self.spec.loader
        return loader.get_code(self.spec.name) if hasattr(loader, "get_code") else None


def _spec(name, module):
    spec = ModuleSpec(name, _Loader(module), origin=getattr(module, "__file__", None))
    if hasattr(module, "__path__"):
        spec.submodule_search_locations = list(module.__path__)
    return spec


class Finder:
    """Stands on ``sys.meta_path``; each module of torch is the one of rushlight."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch" and not name.startswith("torch."):
            return None
        real = _real_name(name)
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real and not real.startswith(f"{error.name}."):
                raise
            if _is_import():
                raise ModuleNotFoundError(
                    f"No module named '{name}' (rushlight {__version__} does not have it)", name=name
                ) from None
            return None
        return _spec(name, module)

    @staticmethod
    def find_distributions(context=None):
        wanted = getattr(context, "name", None)
        if wanted is None or wanted.lower() == "torch":
            from .distribution import TorchDistribution

            yield TorchDistribution()

    @staticmethod
    def invalidate_caches():
        """Nothing is cached."""


class SafetensorsFinder:
    """Stands last on ``sys.meta_path``: where the safetensors package is missing, rushlight's own module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in ("safetensors", "safetensors.torch"):
            return None
        spec = _spec(name, importlib.import_module("rushlight.safetensors"))
        if name == "safetensors":
            spec.submodule_search_locations = []
        return spec
