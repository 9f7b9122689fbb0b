"""Makes ``import torch`` mean rushlight: in this process, in those that it starts, in an environment.

A finder that stands first on ``sys.meta_path`` answers for ``torch.*`` and for nothing else.
``torch.nn`` is the very module ``rushlight.nn``, imported when it is first asked for; a torch that is
installed stays out of reach. A module that this version lacks raises ModuleNotFoundError, and find_spec
returns None. A second finder stands last: it answers for ``safetensors`` where that package is missing.

Other interpreters find ``torch`` as a file. The folder ``site`` beside this file holds a package torch of a
few lines, which calls replace(), and what ``importlib.metadata`` reads of it: install_as_torch() puts the
folder on ``sys.path`` and PYTHONPATH, `rushlight alias install` copies it into an environment
(``environment.py``).

Which version is it? Scripts ask in order to know what torch can do, so ``torch.__version__`` and
``importlib.metadata.version("torch")`` answer with the version of the interface and, behind the plus sign as
in "2.13.0+cpu", with rushlight's own.
"""

import importlib
import os
import sys
from importlib.machinery import ModuleSpec

from ..version import __version__

__all__ = ["install_as_torch", "load_ipython_extension"]

INTERFACE = "2.13.0"  # the version of PyTorch whose names and behaviour rushlight has
VERSION = f"{INTERFACE}+rushlight{__version__}"
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


# ---- finds ``torch`` and ``torch.*`` where rushlight has them ----
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
        if _is_import():  # names.py has put it there; importlib would load what came during its search anew
            sys.modules.pop(name, None)
        return _spec(name, module)

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


# ---- processes that multiprocessing starts anew, and in which the program imports torch again ----
# What such a process is told first is a pickled dict, which ``multiprocessing.spawn`` makes; one value more
# in it installs the alias when it is read, before anything else asks for torch.
_INSTALL = "import sys\nsys.path[:] = {!r}\nfrom rushlight import _alias\n_alias.install_as_torch()"


class _Alias:
    def __reduce__(self):
        return exec, (_INSTALL.format(sys.path),)


def teach(spawn):
    """Let multiprocessing.spawn hand the alias on."""
    usual = spawn.get_preparation_data

    def get_preparation_data(name):
        # a fork server that imported the program itself would do so without the alias
        server = sys._getframe(1).f_globals.get("__name__") == "multiprocessing.forkserver"
        data = usual(name)
        if server:
            return {key: value for key, value in data.items() if not key.startswith("init_main")}
        return {"rushlight": _Alias(), **data}

    spawn.get_preparation_data = get_preparation_data


# ---- this process ----
def _take_the_name():
    """Let torch mean rushlight in this process from now on."""
    if Finder in sys.meta_path:
        return
    import rushlight
    from rushlight import _dispatch_keys, version  # noqa: F401  packages read the keys from torch._C
    from rushlight.torch_version import TorchVersion

    from . import names

    sys.meta_path.insert(0, Finder)
    sys.meta_path.append(SafetensorsFinder)
    rushlight.__version__ = version.__version__ = TorchVersion(VERSION)
    names.call_all_torch()


def replace(module):
    """Let rushlight be what an import of ``site/torch/__init__.py``, the module, answers."""
    import rushlight

    sys.modules[module.__name__] = rushlight
    _take_the_name()


def _show_to_children():
    """Let interpreters that this one starts, and importlib.metadata in this one, find the folder ``site``."""
    from .._import_hooks import after_import

    if SITE not in sys.path:  # where PYTHONPATH would have it: behind the folder of the program
        sys.path.insert(0 if sys.flags.safe_path else 1, SITE)
    told = os.environ.get("PYTHONPATH")
    if SITE not in (told or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = f"{SITE}{os.pathsep}{told}" if told else SITE
    after_import("multiprocessing.spawn", teach)


def install_as_torch() -> None:
    """Let ``import torch`` mean rushlight, in this process and in the interpreters that it starts.

    ``torch`` and every submodule are the modules of rushlight; ``torch.__version__`` and
    ``importlib.metadata.version("torch")`` begin with the version of PyTorch whose interface it is; classes
    and functions call themselves torch's, in ``repr`` and in pickles. A PyTorch that is installed stays out
    of reach. Calling it again does nothing.

    Child processes inherit it through the environment variable PYTHONPATH, in front of which the folder of a
    small package ``torch`` is put: interpreters that are told to ignore it (``python -I``, ``-E``, an
    environment of their own) do not. `rushlight run` calls this before a program starts, and
    ``%load_ext rushlight`` in a notebook.

    Raises
    ------
    ImportError
        If another torch has been imported in this process.
    """
    import rushlight

    if sys.modules.get("torch", rushlight) is not rushlight:
        raise ImportError("torch is already imported: rushlight cannot take its place in this process")
    _take_the_name()
    sys.modules["torch"] = rushlight  # packages look there, to know whose tensors they may meet
    _show_to_children()


def load_ipython_extension(ipython: object) -> None:
    """Let ``import torch`` mean rushlight in a notebook: what ``%load_ext rushlight`` calls.

    Raises
    ------
    ImportError
        If another torch has been imported in this process.
    """
    install_as_torch()
