"""What a module says about a name that it lacks, and which names it shows."""

import sys

from .version import __version__

_REFERENCE = "PyTorch 2.13"
_MOST_SUGGESTED = 750  # of a module with more names Python itself suggests none


_lacking = {}  # {module: the names that PyTorch's has and this version lacks}, read when it is first needed


def _read_lacking():
    import os

    path = os.path.join(os.path.dirname(__file__), "unimplemented.txt")
    with open(path, encoding="ascii") as file:
        _lacking.update((line.split()[0], line.split()[1:]) for line in file)


def _alike(name, names):
    """The name that was probably meant, or None; quick, since programs probe modules with hasattr()."""
    from difflib import get_close_matches

    near = [each for each in names if each[:1] == name[:1] and abs(len(each) - len(name)) < 3]
    return next(iter(get_close_matches(name, near, 1, 0.7)), None)


def module_getattr(module):
    """Make the ``__getattr__`` of a module; its error tells names that will come from misspelt ones."""

    def __getattr__(name):
        text = f"module '{module}' has no attribute '{name}'"
        if not name.startswith("_"):
            if not _lacking:
                _read_lacking()
            if name in _lacking.get(module, ()):
                if _is_from_import():
                    raise ImportError(f"cannot import name '{name}' from '{module}' {_hint()}", name=name)
                text += f" {_hint()}"
            elif len(names := dir(sys.modules[module])) > _MOST_SUGGESTED and (meant := _alike(name, names)):
                text += f"; did you mean '{meant}'?"
        raise AttributeError(text)

    return __getattr__


def _hint():
    return f"(exists in {_REFERENCE}, not in rushlight {__version__})"


def _is_from_import():
    """Whether ``from module import name`` asks, which would put its own text for an AttributeError's."""
    from opcode import opmap

    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "__getattr__":  # a module's own, which asked this one
        frame = frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def module_dir(module, lazy=()):
    """Make the ``__dir__`` of a module: what is public, and what comes when it is asked for."""

    def __dir__():
        space = vars(sys.modules[module])
        named = space.get("__all__") or [name for name, value in space.items() if _is_own(name, value)]
        modules = (name for name, value in space.items() if type(value) is type(sys) and _is_own(name, value))
        return sorted({*named, *modules, *lazy, *(name for name in space if name[:2] == "__")})

    return __dir__


def _is_own(name, value):
    """Whether a name of a module is meant for others, not what its file imports for itself."""
    if name[0] == "_" or name in ("TYPE_CHECKING", "annotations"):
        return False
    if type(value) is type(sys):
        return value.__name__.startswith("rushlight.")
    home = getattr(value, "__module__", None)
    return not isinstance(home, str) or home.startswith(("rushlight", "torch"))


def refuse(what):
    """Make the error for a case that exists in PyTorch and not in this version."""
    return NotImplementedError(f"{what} (rushlight {__version__} does not have it)")


def absent_function(module, name):
    """Make a function that exists in PyTorch and that raises NotImplementedError when it is called.

    It stands where packages import a name that they may never use.
    """
    whole = f"{module.removeprefix('rushlight.')}.{name}"

    def function(*args, **kwargs):
        raise refuse(whole)

    function.__module__, function.__name__, function.__qualname__ = module, name, name
    function.__doc__ = f"Raise NotImplementedError: this version has no {whole}."
    return function


def absent_class(module, name, *bases):
    """Make a class that exists in PyTorch and of which nothing is made: isinstance() answers False.

    It stands where packages import a class for isinstance() and annotations.
    """
    whole = f"{module.removeprefix('rushlight.')}.{name}"

    def __init__(self, *args, **kwargs):
        raise refuse(whole)

    text = f"Raise NotImplementedError when one is made: this version has no {whole}."
    return type(name, bases, {"__init__": __init__, "__module__": module, "__doc__": text})
