"""What PyTorch's files call things, and what they are called here."""

import functools
import importlib
import pickle
import sys

from .. import _C
from .._missing import refuse

# ---- layers that a file holds and that rushlight lacks ----
_MODULE_KEYS = frozenset({"training"})


@functools.cache
def _base():
    from ..nn import Module

    class Placeholder(Module):
        """Keeps a layer's state, prints it and is saved as the layer that it stands for."""

        def forward(self, *args, **kwargs):
            raise refuse(f"the layer {'.'.join(self._torch_name)}")

        def extra_repr(self):
            plain = (bool, int, float, str, type(None))
            return ", ".join(
                f"{key}={value!r}"
                for key, value in vars(self).items()
                if type(value) in plain and key[0] != "_" and key not in _MODULE_KEYS
            )

    return Placeholder


@functools.cache
def placeholder(module, name):
    """Return the class that stands for a layer's class; the same one each time."""
    if "." in name:
        raise pickle.UnpicklingError(f"{module}.{name} is no name of a layer")
    return type(name, (_base(),), {"_torch_name": (module, name), "__module__": module})


# The files of PyTorch in which the lazy layers stand; here they share one.
_LAZY_HOMES = {
    "LazyBatchNorm": "batchnorm",
    "LazyConv": "conv",
    "LazyInstanceNorm": "instancenorm",
    "LazyLinear": "linear",
}
_LAZY = "rushlight.nn.modules.lazy"
# Where functions stand that PyTorch wrote in C++ and pickles by these places.
_BUILTINS = "rushlight._C._nn"
_BUILTIN_HOMES = {
    "torch._C._nn": [_BUILTINS, "rushlight.nn.functional"],
    "torch._C._linalg": [_BUILTINS],
    "torch._C._special": [_BUILTINS],
    "torch._C._VariableFunctions": ["rushlight"],
}
# Classes of PyTorch whose static methods are the functions of this package.
_FUNCTION_HOLDERS = ("_VariableFunctionsClass", "_VariableFunctions")
_OLD_MODULES = {"torch.tensor": "torch._tensor"}
# Files of PyTorch whose public names stand one level higher here.
_HIGHER = {
    "torch.autograd.variable": "rushlight.autograd",
    "torch.cuda.memory": "rushlight.cuda",
    "torch.cuda.random": "rushlight.cuda",
    "torch.functional": "rushlight",
}
_OTHER_NAMES = {
    ("torch.nn.functional", "_threshold"): ("torch.nn.functional", "threshold"),
    ("torch._C", "TensorBase"): ("torch", "Tensor"),
    ("torch._C", "_TensorBase"): ("torch", "Tensor"),
    ("torch._C._autograd", "DeviceType"): ("torch.profiler", "DeviceType"),
    ("torch._C._profiler", "ProfilerActivity"): ("torch.profiler", "ProfilerActivity"),
}
# Layers live here; one that rushlight lacks still keeps what the file says about it.
# Other layers with the names of plain ones.
_QUANTIZED_HOMES = ("torch.nn.quantized.", "torch.nn.qat.", "torch.nn.intrinsic.", "torch.nn.quantizable.")
_LAYER_HOMES = ("torch.nn.modules.", "torch.nn.parallel.", "torch.ao.nn.", *_QUANTIZED_HOMES)


def is_torch(module):
    return module == "torch" or module.startswith("torch.")


def is_ours(module):
    return module == "rushlight" or module.startswith("rushlight.")


def _own_name(module):
    """Return what a module of torch is called that is rushlight's; a name of PyTorch's stays as it is."""
    own = getattr(sys.modules.get(module), "__name__", module)
    return own if is_ours(own) else module


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


class _Functions:
    """Stands for the class of PyTorch that has these functions as static methods."""

    def __getattr__(self, name):
        from .. import nn

        if name.startswith("_"):
            raise AttributeError(name)
        for home in (sys.modules["rushlight"], nn.functional):
            if hasattr(home, name):
                return getattr(home, name)
        raise pickle.UnpicklingError(f"the file asks for torch.{name}, which rushlight does not have")


def find(module, name):
    """Return what stands here for a name of PyTorch, a placeholder for a layer that is not built."""
    module = _OLD_MODULES.get(module, module)
    if module == "torch._C" and name in _FUNCTION_HOLDERS:
        return _Functions()
    module, name = _OTHER_NAMES.get((module, name), (module, name))
    homes = [*_BUILTIN_HOMES.get(module, ["rushlight" + module[len("torch") :]])]
    if module in _HIGHER:
        homes.append(_HIGHER[module])
    if module.startswith("torch.nn.") and not module.startswith(_QUANTIZED_HOMES):
        homes += ["rushlight.nn.modules", "rushlight.nn.functional"]
    for space in ("linalg", "special"):
        if module == f"torch._C._{space}":
            public = _walk(_import(f"rushlight.{space}"), name.removeprefix(f"{space}_"))
            if public is not None:
                return public
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
    for public in ("rushlight.nn.functional", "rushlight.nn", "rushlight.autograd", "rushlight"):
        if getattr(sys.modules.get(public), name, None) is obj:
            return public
    return None


def torch_name(obj, name=None):
    """Return (module, name) by which files call a class or function; PicklingError when there is none."""
    if isinstance(obj, type) and hasattr(obj, "_torch_name"):
        return obj._torch_name
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or pickle.whichmodule(obj, name)
    if is_torch(module) and is_ours(own := _own_name(module)):
        module = own
    if not is_ours(module):
        _check_importable(obj, module, name)
        return module, name
    if module == _BUILTINS:
        space = name.partition("_")[0]
        return f"torch._C._{space if space in ('linalg', 'special') else 'nn'}", name
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
