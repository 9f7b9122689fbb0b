"""torch.compile: its arguments are checked as PyTorch does, and what it gives runs the Python as it is."""

from __future__ import annotations

from collections.abc import Sized
from functools import wraps

from rushlight.nn.modules.module import Module

from .backends import get_default_backend, lookup_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class OptimizedModule(Module):
    """What torch.compile() makes of a module: it calls the module, and its attributes are the module's.

    Parameters
    ----------
    mod : Module
        The module, which is the only child, ``_orig_mod``: keys of state dicts start with that.

    Notes
    -----
    Same as torch._dynamo.OptimizedModule.
    """

    _opt_mod_attributes = frozenset(("_orig_mod", "dynamo_ctx", "_super_module_initialized", "__dict__"))

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        object.__setattr__(self, "_orig_mod", mod)  # before anything is looked up
        self._super_module_initialized = False
        super().__init__()
        del self.__dict__["_orig_mod"]
        self._super_module_initialized = True
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return self.__class__, (self._orig_mod, self.dynamo_ctx)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if self._super_module_initialized:  # not what Module.__init__ sets
            self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._opt_mod_attributes or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._opt_mod_attributes or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        own = self._orig_mod.__dir__()
        return own + [name for name in super().__dir__() if name not in own]


def _wrapped(function):
    """Make a function that calls one, as a compiled one does."""

    @wraps(function)
    def compile_wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    compile_wrapper._torchdynamo_orig_callable = function
    compile_wrapper._torchdynamo_inline = function
    return compile_wrapper


def check_arguments(backend: Any, mode: Any, options: Any, dynamic: Any) -> None:
    """Raise what PyTorch raises for arguments of torch.compile().

    Raises
    ------
    RuntimeError
        If there are a mode and options, or no such mode.
    InvalidBackend
        If there is no backend of that name.
    AttributeError, AssertionError
        If `options` is no dict, or `dynamic` no bool.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if backend == "inductor":
        if mode and mode not in _MODES:
            raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
        if options:
            options.items()
    lookup_backend(backend)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")


def compiled(model: Any, backend: Any, mode: Any, options: Any, dynamic: Any, disable: bool) -> Any:
    """Return what torch.compile() gives: an OptimizedModule, or a function that calls the given one."""
    check_arguments(get_default_backend() if backend is None else backend, mode, options, dynamic)
    if disable or isinstance(model, (type, OptimizedModule)):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return _wrapped(model)


def is_dynamo_supported() -> bool:
    """Whether code can be compiled: no."""
    return False


def is_inductor_supported() -> bool:
    """Whether code can be compiled by TorchInductor: no."""
    return False
