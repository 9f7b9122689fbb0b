"""Docstrings of the package: who has one, and what their examples print."""

import doctest
import functools
import importlib.util
import inspect
import pathlib
import random
import warnings

import numpy as np

import rushlight

PACKAGE = pathlib.Path(rushlight.__file__).parent
NEEDS = {"rushlight.utils.tensorboard": "tensorboard"}  # packages that not everybody has


def module_names():
    """Yield the names of the modules whose path is public, packages before what lies in them."""
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        name = ".".join(parts)
        lacking = (need for part, need in NEEDS.items() if f"{name}.".startswith(f"{part}."))
        if any(importlib.util.find_spec(need) is None for need in lacking):
            continue
        if not any(part.startswith("_") for part in parts):
            yield name


MODULES = sorted(module_names())


def public(name):
    """Yield (name, value) of the classes and functions that a module offers and that are ours."""
    module = importlib.import_module(name)
    for key in getattr(module, "__all__", None) or [key for key in dir(module) if not key.startswith("_")]:
        value = getattr(module, key)
        home = getattr(value, "__module__", None) or ""
        if callable(value) and home.startswith("rushlight"):
            yield key, value


def documented(name):
    """Yield (name, docstring) of a module, its classes and functions, and the methods of its classes."""
    yield name, importlib.import_module(name).__doc__
    for key, value in public(name):
        yield f"{name}.{key}", value.__doc__
        if isinstance(value, type):
            for base in value.__mro__:
                for method, member in vars(base).items():
                    if not method.startswith("_"):
                        yield f"{name}.{key}.{method}", getattr(member, "__doc__", None)


@functools.cache
def examples():
    """Return {module: [(name, docstring)]} of docstrings with examples, each under one name."""
    found = {}
    for name in MODULES:
        for path, text in documented(name):
            if isinstance(text, str) and ">>>" in text:
                found.setdefault(text, (name, path))
    return {
        module: [(path, text) for text, (name, path) in found.items() if name == module] for module in MODULES
    }


def report(name, text, torch=rushlight):
    """Run the examples of one docstring; return what doctest says of those that fail."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    said = []
    example = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), names, name, None, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # examples show how a thing is meant to be used
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(example, out=said.append)
    return "".join(said)
