"""Makes ``import torch`` mean rushlight, in this process.

A finder that stands first on ``sys.meta_path`` answers for ``torch`` and ``torch.*`` and for nothing else.
``torch.nn`` is the very module ``rushlight.nn``, imported when it is first asked for; a torch that is
installed stays out of reach. A module that this version lacks raises ModuleNotFoundError, and find_spec
answers None.

Which version is it? Scripts ask in order to know what torch can do, so ``torch.__version__`` and
``importlib.metadata.version("torch")`` answer with the version of the interface and, behind the plus sign as
in "2.13.0+cpu", with rushlight's own: "2.13.0+rushlight0.1.0".
"""

import importlib
import sys
from importlib.machinery import ModuleSpec

from ..version import __version__

INTERFACE = "2.13.0"
VERSION = f"{INTERFACE}+rushlight{__version__}"


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


def _distribution():
    """Describe the distribution that the alias stands for."""
    from importlib import metadata

    class TorchDistribution(metadata.Distribution):
        def read_text(self, filename):
            if filename == "METADATA":
                return (
                    f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"
                    f"Summary: rushlight {__version__} in the place of torch\n"
                )
            return "torch\n" if filename == "top_level.txt" else None

        def locate_file(self, path):
            import os
            from pathlib import Path

            return Path(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), path)

    return TorchDistribution()


class _Finder:
    """Maps names; see the text above."""

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
        spec = ModuleSpec(name, _Loader(module), origin=getattr(module, "__file__", None))
        if hasattr(module, "__path__"):
            spec.submodule_search_locations = list(module.__path__)
        return spec

    @staticmethod
    def find_distributions(context=None):
        wanted = getattr(context, "name", None)
        if wanted is None or wanted.lower() == "torch":
            yield _distribution()

    @staticmethod
    def invalidate_caches():
        """Nothing is cached."""


def install():
    """Let torch mean rushlight from now on; a torch that was imported before is an error."""
    if _Finder in sys.meta_path:
        return
    import rushlight
    from rushlight import version
    from rushlight.torch_version import TorchVersion

    if "torch" in sys.modules and sys.modules["torch"] is not rushlight:
        raise ImportError("torch is already imported: rushlight cannot take its place in this process")
    sys.meta_path.insert(0, _Finder)
    rushlight.__version__ = version.__version__ = TorchVersion(VERSION)
    rushlight.Tensor.__module__ = "torch"  # programs print the class
