"""What PyTorch's files call things, and what they are called here."""

import importlib
import pickle
import sys

from .. import _C
from .placeholder import placeholder

# The files of PyTorch in which the lazy layers stand; here they share one.
_LAZY_HOMES = {
    "LazyBatchNorm": "batchnorm",
    "LazyConv": "conv",
    "LazyInstanceNorm": "instancenorm",
    "LazyLinear": "linear",
}
_LAZY = "rushlight.nn.modules.lazy"
# Where functions stand that PyTorch wrote in C++ and pickles by these places.
_BUILTIN_HOMES = {"torch._C._nn": "rushlight.nn.functional", "torch._C._VariableFunctions": "rushlight"}
_OLD_MODULES = {"torch.tensor": "torch._tensor"}
# Layers live here; one that rushlight lacks still keeps what the file says about it.
_LAYER_HOMES = ("torch.nn.modules.", "torch.nn.parallel.", "torch.nn.quantized.", "torch.ao.nn.")


def is_torch(module):
    return module == "torch" or module.startswith("torch.")


def is_ours(module):
    return module == "rushlight" or module.startswith("rushlight.")


def _import(module):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module and not module.startswith(f"{error.name}."):
            raise
        return None


def _walk(owner, name):
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner


def find(module, name):
    """Return what stands here for a name of PyTorch, a placeholder for a layer that is not built."""
    module = _OLD_MODULES.get(module, module)
    homes = [_BUILTIN_HOMES.get(module) or "rushlight" + module[len("torch") :]]
    if module.startswith("torch.nn."):
        homes += ["rushlight.nn.modules", "rushlight.nn.functional"]
    for home in homes:
        owner = _import(home)
        found = None if owner is None else _walk(owner, name)
        if found is not None:
            return found
    if module.startswith(_LAYER_HOMES) and name[0].isupper():
        return placeholder(module, name)
    raise pickle.UnpicklingError(
        f"the file asks for {module}.{name}, which rushlight does not have; save the state_dict() with "
        "PyTorch and load that"
    )


def _home_of_function(obj, name):
    """PyTorch's module for a function or class that stands in a private module here."""
    for public in ("rushlight.nn.functional", "rushlight.nn", "rushlight"):
        if getattr(sys.modules.get(public), name, None) is obj:
            return public
    return None


def torch_name(obj, name=None):
    """Return (module, name) by which files call a class or function; PicklingError when there is none."""
    if isinstance(obj, type) and hasattr(obj, "_torch_name"):
        return obj._torch_name
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or pickle.whichmodule(obj, name)
    if is_torch(module) and _walk(sys.modules["rushlight"], name) is obj:
        module = "rushlight"  # a class that `import torch` made ours to call itself so
    if not is_ours(module):
        _check_importable(obj, module, name)
        return module, name
    if module == _LAZY:
        home = next((file for start, file in _LAZY_HOMES.items() if name.startswith(start)), "lazy")
        return f"torch.nn.modules.{home}", name
    if not isinstance(obj, type) or "._" in module:
        module = _home_of_function(obj, name) or module
    if isinstance(obj, _C.dtype) or module == "rushlight._C":
        module = "rushlight"
    return "torch" + module[len("rushlight") :], name


def _check_importable(obj, module, name):
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            if part == "<locals>":
                raise AttributeError
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise pickle.PicklingError(
            f"cannot save {obj!r}: no import finds it as {module}.{name}. Save tensors, numbers, text and "
            "containers of them, for example model.state_dict()"
        ) from None
    if found is not obj:
        raise pickle.PicklingError(f"cannot save {obj!r}: it's not the same object as {module}.{name}")
