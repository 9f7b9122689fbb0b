"""Writes pysrc/rushlight/unimplemented.txt: the names of PyTorch's modules that rushlight's lack.

python tools/make_missing.py pysrc/rushlight/unimplemented.txt    (make names: where PyTorch is installed)
"""

import importlib
import importlib.util
import pathlib
import pkgutil
import sys
import types
import warnings


def pairs():
    """(module of rushlight, the same of PyTorch) for all that both have."""
    import rushlight

    names = [m.name for m in pkgutil.walk_packages(rushlight.__path__, "rushlight.", onerror=lambda _: None)]
    for name in ["rushlight", *names]:
        if not any(part.startswith("_") for part in name.split(".")[1:]):
            try:
                yield (
                    importlib.import_module(name),
                    importlib.import_module("torch" + name[len("rushlight") :]),
                )
            except ImportError:
                continue


def is_of_pytorch(value):
    """Whether PyTorch defines it; its files import much else that nobody looks for there."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch.")
    home = getattr(value, "__module__", None)
    if not isinstance(home, str):
        return type(value).__module__.startswith("torch") or isinstance(value, (str, int, float))
    return home.startswith("torch") or isinstance(value, types.BuiltinFunctionType)


def is_there(module, name):
    if name in dir(module) or hasattr(module, name):
        return True
    return hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def lacking(ours, theirs):
    inside = {each.name for each in pkgutil.iter_modules(getattr(theirs, "__path__", ()))}
    named = {name for name in dir(theirs) if is_of_pytorch(getattr(theirs, name, None))}
    for name in sorted(inside | named | set(getattr(theirs, "__all__", ()))):
        if name[0] != "_" and name != "TYPE_CHECKING" and not is_there(ours, name):
            yield name


def lines():
    """A line for each module: its name, then what it lacks."""
    for ours, theirs in pairs():
        if names := list(lacking(ours, theirs)):
            yield " ".join([ours.__name__, *names]) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pathlib.Path(sys.argv[1]).write_text("".join(lines()))
