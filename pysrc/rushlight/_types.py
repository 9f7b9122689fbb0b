"""Types: torch.FloatTensor and its kin, the names of types, the modules of devices."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import rushlight

from . import _C
from ._create import _warn_once
from ._tensor import _TYPE_NAMES
from ._tensor_new import legacy_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.types import Device


def is_storage(obj: object) -> Any:
    """Test whether an object is a storage: the memory of a tensor.

    Parameters
    ----------
    obj : object
        Object.

    Returns
    -------
    bool
        Whether it is.

    Notes
    -----
    Same as torch.is_storage: https://docs.pytorch.org/docs/2.13/generated/torch.is_storage.html

    Examples
    --------
    >>> torch.is_storage(torch.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, _C.UntypedStorage) or isinstance(
        getattr(obj, "_untyped_storage", None), _C.UntypedStorage
    )


def get_device_module(device: Device = None) -> Any:
    """Return the module of a type of device, such as ``torch.cuda``.

    Parameters
    ----------
    device : device, optional
        Device; the GPU, or the CPU where there is none, if not given.

    Returns
    -------
    module
        The module.

    Raises
    ------
    RuntimeError
        If the device has none.

    Notes
    -----
    Same as torch.get_device_module: https://docs.pytorch.org/docs/2.13/generated/torch.get_device_module.html

    Examples
    --------
    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if not isinstance(device, (_C.device, str, type(None))):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if device is None:
        name = "cuda" if import_module("rushlight.cuda").is_available() else "cpu"
    else:
        name = _C.device(device).type
    if name not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    return import_module(f"rushlight.{name}")


def compiled_with_cxx11_abi() -> bool:
    """Return True, as PyTorch does: whether C++ strings are those of C++11. There is no C++ here.

    Returns
    -------
    bool
        True.

    Notes
    -----
    Same as torch.compiled_with_cxx11_abi:
    https://docs.pytorch.org/docs/2.13/generated/torch.compiled_with_cxx11_abi.html

    Examples
    --------
    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available() -> Any:
    """Return False: there is no Vulkan.

    Returns
    -------
    bool
        False.

    Examples
    --------
    >>> torch.is_vulkan_available()
    False
    """
    return False


def typename(obj: object) -> str:
    """Return the name of the type of an object, such as 'torch.FloatTensor' for a tensor.

    Parameters
    ----------
    obj : object
        Object.

    Returns
    -------
    str
        The name.

    Notes
    -----
    Same as torch.typename: https://docs.pytorch.org/docs/2.13/generated/torch.typename.html

    Examples
    --------
    >>> torch.typename(torch.ones(2)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, _C.Tensor):
        return obj.type()
    if isinstance(obj, ModuleType):
        return obj.__name__
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", None)
    prefix = "" if module in (None, "builtins", "__builtin__") else module + "."
    return prefix + owner.__qualname__


def set_default_tensor_type(t: type[Tensor] | str) -> None:
    """Set the default dtype by a type of tensors; one of torch.cuda makes GPUs the default device.

    Deprecated, with a warning: use set_default_dtype() and set_default_device().

    Parameters
    ----------
    t : type or str
        Floating type, such as ``torch.DoubleTensor``, or its name.

    Raises
    ------
    TypeError
        If it is no floating type of tensors.

    Notes
    -----
    Same as torch.set_default_tensor_type:
    https://docs.pytorch.org/docs/2.13/generated/torch.set_default_tensor_type.html
    """
    _warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        home, _, name = t.rpartition(".")
        home = home.replace("torch", "rushlight", 1) if home.split(".")[0] == "torch" else home or name
        t = getattr(import_module(home), name)
    if not isinstance(t, _LegacyType):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if t._device_type == "cuda" and not rushlight.cuda.is_available():
        raise _not_available(t)
    _C.set_default_dtype(t.dtype)
    if t._device_type == "cuda" or _C.get_default_device().type == "cuda":
        rushlight.set_default_device(t._device_type)


# ---- torch.FloatTensor and its kin ----


class _LegacyType(type):
    def __call__(cls, *args, **kwargs):
        if cls._device_type == "cuda" and not rushlight.cuda.is_available():
            raise _not_available(cls)
        return legacy_new(args, kwargs, cls.dtype, cls._device_type)

    def __instancecheck__(cls, obj):
        return (
            isinstance(obj, _C.Tensor)
            and obj.dtype is cls.dtype
            and (obj.is_cpu if cls._device_type == "cpu" else obj.is_cuda)
        )


def _not_available(cls):
    return TypeError(f"type {cls._type_name} not available. Torch not compiled with CUDA enabled.")


def _legacy_type(dtype, name, module):
    short = name.rpartition(".")[2]
    members = {
        "dtype": dtype,
        "_device_type": "cpu" if module == "rushlight" else "cuda",
        "_type_name": name,
        "__module__": module,
        "__doc__": f"Makes {dtype} tensors, and tells by isinstance whether one is.",
    }
    return _LegacyType(short, (), members)


def _legacy_types():
    """Return the classes by their names, one for each dtype."""
    return {
        name.removeprefix("torch."): _legacy_type(dtype, name, "rushlight")
        for dtype, name in _TYPE_NAMES.items()
    }


def _cuda_types():
    """Return those of torch.cuda by their names: torch.cuda.FloatTensor and its kin."""
    names = {name.removeprefix("torch."): dtype for dtype, name in _TYPE_NAMES.items()}
    kinds = ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "Bool", "BFloat16")
    return {
        f"{kind}Tensor": _legacy_type(names[f"{kind}Tensor"], f"torch.cuda.{kind}Tensor", "rushlight.cuda")
        for kind in kinds
    }
