"""script: functions and modules of TorchScript's kinds, which run the Python that they were made of."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from rushlight import _missing
from rushlight._jit_internal import FunctionModifiers, get_torchscript_modifier
from rushlight.nn.modules.module import Module

from ._serialization import _refuse_writing
from ._state import _enabled, deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor

# what a compiler would know
_NO_CODE = frozenset(
    "code code_with_constants graph graph_for get_debug_state inlined_graph save_to_buffer schema "
    "_save_for_lite_interpreter _save_to_buffer_for_lite_interpreter".split()
)


class ScriptWarning(Warning):
    """A warning of TorchScript."""


class Error(Exception):
    """An exception that TorchScript's interpreter raises in PyTorch; here code raises its own."""


Error.__module__ = "rushlight.jit"


class _NoCodeError(NotImplementedError, AttributeError):
    """There is no such attribute, for hasattr(), and PyTorch has it."""


def _no_code(kind, name):
    text = f"jit.{kind}.{name}: nothing is compiled"
    return _NoCodeError(str(_missing.refuse(text)))


def _qualified_name(obj, name):
    """The name that TorchScript gives to a function or class: __torch__, its module, its name."""
    home = getattr(obj, "__module__", None)
    parts = [] if home in (None, "__main__") else [home.replace("rushlight", "torch", 1)]
    return ".".join(["__torch__", *parts, name])


class Attribute(NamedTuple):
    """A value and its type, for an attribute that TorchScript could not tell by itself.

    Notes
    -----
    Same as torch.jit.Attribute: https://docs.pytorch.org/docs/2.13/generated/torch.jit.Attribute.html
    """

    value: Any
    type: Any


class ScriptFunction:
    """A function that was scripted or traced; it runs as Python.

    Attributes
    ----------
    name : str
        The function's name.
    qualified_name : str
        Its name in TorchScript.

    Notes
    -----
    Same as torch.jit.ScriptFunction:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.ScriptFunction.html
    """

    __module__ = "rushlight.jit"

    def __init__(self, function: Callable[..., Any]) -> None:
        self._torchdynamo_inline = function
        name = getattr(function, "__name__", type(function).__name__)
        self.name = name.replace("<lambda>", "_lambda")
        self.qualified_name = _qualified_name(function, self.name)
        if getattr(function, "__doc__", None):
            self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._torchdynamo_inline(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in _NO_CODE:
            raise _no_code("ScriptFunction", name)
        raise AttributeError(f"'ScriptFunction' object has no attribute '{name}'")

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Raise NotImplementedError: TorchScript archives cannot be written."""
        _refuse_writing()

    def __copy__(self) -> ScriptFunction:
        return self

    def __deepcopy__(self, memo: Any) -> ScriptFunction:
        return self

    def __reduce__(self) -> Any:
        import pickle

        raise pickle.PickleError("ScriptFunction cannot be pickled")


# ---- modules ----
class ScriptModule(Module):
    """The class of modules that were scripted or traced; a class of one's own may have it as its base.

    Notes
    -----
    Same as torch.jit.ScriptModule: https://docs.pytorch.org/docs/2.13/generated/torch.jit.ScriptModule.html
    """

    def define(self, src: str) -> None:
        """Raise NotImplementedError: there is no compiler."""
        raise _missing.refuse("jit.ScriptModule.define: nothing is compiled")

    def save(self, f: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError: TorchScript archives cannot be written."""
        _refuse_writing()


def _prepared(module):
    prepare = getattr(module, "__prepare_scriptable__", None)
    return module if prepare is None else prepare()


def _shadow_of(module, memo, change):
    """Copy a tree of modules: the same tensors, or what ``change`` makes of them, in dicts of their own."""
    if id(module) in memo:
        return memo[id(module)]
    given, module = module, _prepared(module)
    shadow = module._shadow if isinstance(module, RecursiveScriptModule) else module
    memo[id(given)] = copy = type(shadow).__new__(type(shadow))
    state = copy.__dict__
    state.update(shadow.__dict__)
    for name, value in shadow.__dict__.items():
        if isinstance(value, dict) and (
            name.endswith("_hooks") or name in ("_parameters", "_buffers", "_modules")
        ):
            state[name] = value.copy()
    for name in ("_parameters", "_buffers"):
        state[name].update((key, change(tensor)) for key, tensor in state[name].items() if tensor is not None)
    children = state["_modules"]
    for key, child in children.items():
        children[key] = child if child is None else _shadow_of(child, memo, change)
    return copy


def _same(tensor):
    return tensor


class RecursiveScriptModule(ScriptModule):
    """What script() makes of a module: the same parameters and buffers, attributes and mode of its own.

    It runs a copy of the module's tree, whose parameters and buffers are those that this object shows.
    Methods and attributes of the module are this object's, too.

    Attributes
    ----------
    original_name : str
        Name of the module's class.

    Notes
    -----
    Same as torch.jit.RecursiveScriptModule, whose objects script() makes.
    """

    _child: type | None = None  # the class of submodules, where it is another one
    _only: Any = None  # the names that a frozen module has

    def __init__(self, module: Module) -> None:
        self._wrap(_shadow_of(module, {}, _same), {})

    def _wrap(self, shadow, memo):
        object.__setattr__(self, "_shadow", shadow)
        super().__init__()
        memo[id(shadow)] = self
        state = self.__dict__
        state["original_name"] = type(shadow).__name__
        state["_parameters"], state["_buffers"] = shadow._parameters, shadow._buffers
        state["_non_persistent_buffers_set"] = shadow._non_persistent_buffers_set
        kind = self._child or type(self)
        for name, child in shadow._modules.items():
            if child is None or id(child) in memo:
                state["_modules"][name] = child if child is None else memo[id(child)]
                continue
            state["_modules"][name] = wrapper = kind.__new__(kind)
            wrapper._wrap(child, memo)

    @classmethod
    def _frozen(cls, module, preserved):
        """Make a module without parameters, buffers and submodules, and with few attributes."""
        shadow = _shadow_of(module, {}, lambda tensor: tensor.detach())
        for name in preserved:
            if not hasattr(shadow, name):
                raise RuntimeError(f"Unknown name: {name}")
        frozen = cls.__new__(cls)
        object.__setattr__(frozen, "_shadow", shadow)
        Module.__init__(frozen)
        frozen.__dict__.update(original_name=type(shadow).__name__, _only=frozenset(preserved))
        return frozen

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._shadow(*args, **kwargs)

    @property
    def training(self) -> bool:
        if self._only is not None:
            raise AttributeError("'RecursiveScriptModule' object has no attribute 'training'")
        return self._shadow.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "original_name" in self.__dict__ and self._only is None:  # not what Module.__init__ sets
            self._shadow.training = mode

    def __getattr__(self, name: str) -> Any:
        if name in _NO_CODE:
            raise _no_code("ScriptModule", name)
        try:
            return super().__getattr__(name)
        except AttributeError:
            state = self.__dict__
            known = "_shadow" in state and (self._only is None or name in self._only)
            if known and name[:2] != "__" and hasattr(state["_shadow"], name):
                return getattr(state["_shadow"], name)
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if "original_name" not in state or name in state or hasattr(type(self), name):
            super().__setattr__(name, value)
        elif isinstance(value, Module):
            if not isinstance(value, RecursiveScriptModule):
                raise RuntimeError(
                    "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace "
                    f"existing module '{name}': {value}"
                )
            state["_modules"][name] = value
            self._shadow._modules[name] = value._shadow
        else:
            setattr(self._shadow, name, value)

    def __delattr__(self, name: str) -> None:
        state = self.__dict__
        if name in state["_modules"]:
            del state["_modules"][name]
        delattr(self._shadow, name)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a scripted module; another one raises RuntimeError."""
        setattr(self, name, module)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Raise RuntimeError: TorchScript fixes what a module has."""
        raise RuntimeError(f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}")

    register_parameter = register_buffer

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(dir(self._shadow) if self._only is None else self._only)})

    # what Python looks up in classes
    def _of_shadow(self, method, *args):
        function = getattr(type(self._shadow), method, None)
        if function is None:
            raise NotImplementedError
        return function(self._shadow, *args)

    def __iter__(self) -> Any:
        return self._of_shadow("__iter__")

    def __getitem__(self, index: Any) -> Any:
        return self._of_shadow("__getitem__", index)

    def __len__(self) -> int:
        return self._of_shadow("__len__")

    def __contains__(self, key: Any) -> bool:
        return self._of_shadow("__contains__", key)

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> RecursiveScriptModule:
        return self._again(_shadow_of(self, {}, _same))

    def __deepcopy__(self, memo: Any) -> RecursiveScriptModule:
        import copy

        return self._again(copy.deepcopy(self._shadow, memo))

    def _again(self, shadow):
        if self._only is not None:
            return self._frozen(shadow, self._only)
        made = type(self).__new__(type(self))
        made._wrap(shadow, {})
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = _qualified_name(type(self._shadow), self.original_name)
        raise RuntimeError(
            f"Tried to serialize object {name} which does not have a __getstate__ method defined!"
        )


def _refuses(name):
    def register(self, *args, **kwargs):
        raise RuntimeError(f"{name} is not supported on ScriptModules")

    register.__name__, register.__qualname__ = name, f"RecursiveScriptModule.{name}"
    register.__doc__ = "Raise RuntimeError: a ScriptModule takes no hooks."
    return register


for _name in (
    "register_forward_hook register_forward_pre_hook register_full_backward_hook "
    "register_full_backward_pre_hook "
    "register_backward_hook"
).split():
    setattr(RecursiveScriptModule, _name, _refuses(_name))


class RecursiveScriptClass:
    """The class of scripted objects that are no modules: none is made, they stay what they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _missing.refuse("jit.RecursiveScriptClass")


class CompilationUnit:
    """Functions given as a text of TorchScript, for which there is no compiler.

    Raises
    ------
    NotImplementedError
        If there is a text.

    Notes
    -----
    PyTorch's: https://docs.pytorch.org/docs/2.13/jit.html
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Raise NotImplementedError: there is no compiler."""
        raise _missing.refuse("jit.CompilationUnit.define: nothing is compiled")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")


# ---- what makes them ----
def _script_class(cls):
    if issubclass(cls, Module):
        raise RuntimeError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    return cls


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Callable[[str], Any] | None = None,
    example_inputs: list[tuple] | dict[Callable[..., Any], list[tuple]] | None = None,
) -> Any:
    """Make a ScriptModule of a module, or a ScriptFunction of a function; both run as Python.

    Parameters
    ----------
    obj : Module, function, class, list or dict
        What to script. Classes, lists and dicts stay as they are, and so does what was scripted before.
    optimize : object, optional
        Without effect; deprecated.
    example_inputs : list or dict, optional
        Without effect: types are not needed.

    Returns
    -------
    RecursiveScriptModule, ScriptFunction or object
        For a module: another one with the same parameters and buffers. Attributes that are set there, and its
        mode, leave the given module alone.

    Raises
    ------
    RuntimeError
        If `obj` is a class of modules.
    TypeError
        If there is nothing to run in it.

    Notes
    -----
    Same as torch.jit.script: https://docs.pytorch.org/docs/2.13/generated/torch.jit.script.html

    Where TorchScript differs from Python (integers of 64 bits, types that are checked), this is Python. With
    PYTORCH_JIT=0 everything stays as it is.
    """
    deprecated("script")
    if not _enabled:
        return obj
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(obj, (ScriptModule, ScriptFunction, dict, list)):
        return obj
    if isinstance(obj, Module):
        return RecursiveScriptModule(obj)
    if isinstance(obj, type):
        return _script_class(obj)
    if hasattr(obj, "__script_if_tracing_wrapper"):
        obj = obj.__original_fn
    if hasattr(obj, "__code__") or hasattr(obj, "__func__"):
        return ScriptFunction(obj)
    if type(obj).__module__ == "builtins":
        raise TypeError(f"{type(obj)} is a built-in class")
    return obj


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a ScriptModule as it is."""
    deprecated("script_method")
    return fn


def interface(obj: Any) -> Any:
    """Mark a class that says which methods others have, and return it.

    Raises
    ------
    RuntimeError
        If it is no class.

    Notes
    -----
    Same as torch.jit.interface: https://docs.pytorch.org/docs/2.13/jit_language_reference.html
    """
    deprecated("interface", "Please use `torch.compile` instead.")
    if not isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    obj.__torch_script_interface__ = True
    return obj


def export_opnames(m: Any) -> list[str]:
    """Raise NotImplementedError: a module's operators are not known before it runs."""
    raise _missing.refuse("jit.export_opnames: nothing is compiled")


def _unwrap_optional(x):
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def module_has_exports(mod: Module) -> bool:
    """Whether a module's class has methods that jit.export() marks."""
    kind = type(mod)
    return any(
        get_torchscript_modifier(getattr(kind, name, None)) is FunctionModifiers.EXPORT for name in dir(kind)
    )
