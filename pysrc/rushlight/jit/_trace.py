"""trace: functions and modules are run once with examples, and stay Python."""

from __future__ import annotations

import warnings

from rushlight._C import Tensor
from rushlight.nn.modules.module import Module

from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, module_has_exports
from ._state import _enabled, deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_STRICT = (
    "Encountering a {} at the output of the tracer might cause the trace to be incorrect, this is only "
    "valid if the "
    "container structure does not change based on the module's inputs. Consider using a constant "
    "container instead "
    "(e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
    "need this "
    "and know the side effects, pass strict=False to trace() to allow this behavior."
)


class TracerWarning(Warning):
    """A warning that what was traced may not be what runs later; nothing gives it, since Python runs."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Ignore such warnings of the library itself."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="rushlight.(?!jit)")


class TracingCheckError(Exception):
    """An error that what was traced computes something else; nothing raises it, since Python runs."""


class TracedModule(RecursiveScriptModule):
    """A submodule of a module that trace() made."""

    def _get_name(self) -> str:
        return self.original_name

    register_forward_hook = Module.register_forward_hook
    register_forward_pre_hook = Module.register_forward_pre_hook


class TopLevelTracedModule(TracedModule):
    """What trace() makes of a module: the same parameters and buffers, attributes and mode of its own."""

    _child = TracedModule


def is_tracing() -> bool:
    """Whether a trace is being taken: never.

    Notes
    -----
    Same as torch.jit.is_tracing outside of a trace.
    """
    return False


# ---- what may go in and out ----
def _type_name(value):
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_name, value))}]"
    if isinstance(value, list):
        return f"List[{_type_name(value[0])}]" if value else "List[Tensor]"
    if isinstance(value, dict):
        return f"Dict[str, {_type_name(next(iter(value.values())))}]" if value else "Dict[str, Tensor]"
    return type(value).__name__


def _is_traceable(value):
    if isinstance(value, dict):
        return all(map(_is_traceable, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_traceable, value))
    return isinstance(value, Tensor)


def _as_inputs(example_inputs):
    inputs = (example_inputs,) if isinstance(example_inputs, (Tensor, dict)) else tuple(example_inputs)
    if not _is_traceable(inputs):
        raise RuntimeError(
            f"Type '{_type_name(inputs)}' cannot be traced. Only Tensors and (possibly nested) Lists, "
            f"Dicts, and "
            "Tuples of Tensors can be traced"
        )
    return inputs


def _check_output(output, strict):
    if output is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in traces, so it "
            "would be "
            "a no-op."
        )
    if not _is_traceable(output):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
            "functions"
        )
    if strict and isinstance(output, dict):
        raise RuntimeError(_STRICT.format("dict"))


# ---- what takes them ----
def _warn_optimize(optimize):
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=3,
        )


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-05,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Run a function or module once with examples, and make a ScriptFunction or ScriptModule of it.

    Parameters
    ----------
    func : Module or callable
        What to trace.
    example_inputs : Tensor, dict or tuple of these
        Arguments.
    check_trace, check_inputs, check_tolerance : optional
        Without effect: what runs later is the same Python.
    strict : bool, default True
        Refuse a dict as the result.
    example_kwarg_inputs : dict of str to Tensor, optional
        Keyword arguments, instead.

    Returns
    -------
    TopLevelTracedModule or ScriptFunction
        What runs `func`. No branch is fixed: later calls run the Python anew.

    Raises
    ------
    RuntimeError
        If an argument or the result is not made of tensors.

    Notes
    -----
    Same as torch.jit.trace: https://docs.pytorch.org/docs/2.13/generated/torch.jit.trace.html
    """
    deprecated("trace")
    if not _enabled:
        return func
    _warn_optimize(optimize)
    if isinstance(func, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as "
            "is.",
            stacklevel=2,
        )
        return func
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module):
        if func.__name__ != "forward":
            raise AttributeError(
                "trace doesn't support compiling individual module's functions.\nPlease use trace_module"
            )
        func = owner
    if example_inputs is None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    is_kwarg = example_inputs is None
    if isinstance(func, Module):
        inputs = {"forward": example_kwarg_inputs if is_kwarg else example_inputs}
        return trace_module(func, inputs, None, check_trace, strict=strict, example_inputs_is_kwarg=is_kwarg)
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    args, kwargs = ((), example_kwarg_inputs) if is_kwarg else (_as_inputs(example_inputs), {})
    _check_output(func(*args, **kwargs), strict)
    if check_trace:
        deprecated("trace")
    return ScriptFunction(func)


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-05,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Run methods of a module once with examples, and make a ScriptModule of it.

    Parameters
    ----------
    mod : Module
        The module.
    inputs : dict of str to Tensor or tuple
        Arguments by the name of the method.
    strict : bool, default True
        Refuse a dict as a result.
    example_inputs_is_kwarg : bool, default False
        The arguments are dicts of keyword arguments.

    Returns
    -------
    TopLevelTracedModule
        The module, as trace() makes it.

    Raises
    ------
    AttributeError
        If `mod` is no module, `inputs` no dict, or a method is not there.
    RuntimeError
        If an argument or a result is not made of tensors.

    Notes
    -----
    Same as torch.jit.trace_module: https://docs.pytorch.org/docs/2.13/generated/torch.jit.trace_module.html
    """
    deprecated("trace_method")
    if not _enabled:
        return mod
    _warn_optimize(optimize)
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    traced = RecursiveScriptModule(mod) if module_has_exports(mod) else TopLevelTracedModule(mod)
    for name, given in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        if example_inputs_is_kwarg:
            output = method(**given)
        else:
            output = method(*_as_inputs(given))
        _check_output(output, strict)
        if check_trace:
            deprecated("trace_method")
    return traced


def _script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that does the same, and that knows the one that it was made of."""
    from functools import wraps

    @wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper
