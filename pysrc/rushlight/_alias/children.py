"""Processes that multiprocessing starts anew, in which the program imports torch again: they get the alias.

What such a process is told first is a pickled dict, which ``multiprocessing.spawn`` makes; one value more in
it installs the alias when it is read.
"""

import sys
from importlib.machinery import PathFinder

SPAWN = "multiprocessing.spawn"
_INSTALL = "import sys\nsys.path[:] = {!r}\nfrom rushlight import _alias\n_alias.install()"


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


class _Teacher:
    """The loader of multiprocessing.spawn, and what follows it."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        teach(module)


def teach_now():
    """Teach it where it is imported already."""
    if SPAWN in sys.modules:
        teach(sys.modules[SPAWN])


def spec_of_spawn(path):
    """The spec of multiprocessing.spawn, with a loader that teaches the module."""
    spec = PathFinder.find_spec(SPAWN, path)
    if spec is not None:
        spec.loader = _Teacher(spec.loader)
    return spec
