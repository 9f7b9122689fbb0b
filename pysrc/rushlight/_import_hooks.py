"""What is to happen when a module of others has been imported, without importing it."""

import sys

_waiting = {}


class Loader:
    """The loader of a module, and what follows it."""

    def __init__(self, loader, function):
        self.loader, self.function = loader, function

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.function(module)

    def __getattr__(self, name):  # runpy and inspect ask for code and source
        return getattr(self.loader, name)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = Loader(spec.loader, _waiting.pop(name))
        return spec


def after_import(name, function):
    """Call function(module): now where the module is imported already, else when it has been."""
    if name in sys.modules:
        function(sys.modules[name])
        return
    _waiting[name] = function
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


# ---- multiprocessing ----
def _send(obj):
    """Reduce a tensor or storage for another process; the first one imports what knows how."""
    from multiprocessing.reduction import ForkingPickler

    from . import multiprocessing  # noqa: F401  registers others in the place of this

    return ForkingPickler._extra_reducers[type(obj)](obj)


def share_when_sent(*kinds):
    """Have multiprocessing's own pickler, which processes and queues use, send objects in shared memory."""

    def register(reduction):
        for kind in kinds:
            reduction.register(kind, _send)

    after_import("multiprocessing.reduction", register)
