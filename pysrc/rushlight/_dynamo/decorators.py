"""Decorators and marks for PyTorch's compiler: code runs as it is."""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import wraps

from rushlight import _missing
from rushlight._C import Tensor
from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def disable(fn: Any = None, recursive: bool = True, *, reason: Any = None, wrapping: bool = True) -> Any:
    """Return a function as it is, or a module as its OptimizedModule; without one, a decorator that does so.

    Notes
    -----
    Same as torch.compiler.disable: https://docs.pytorch.org/docs/2.13/generated/torch.compiler.disable.html
    """
    from .eval_frame import OptimizedModule

    if fn is None:
        return disable
    return OptimizedModule(fn) if recursive and isinstance(fn, Module) else fn


_disable_dynamo = disable  # what PyTorch decorates its optimizers with, and so do others


def allow_in_graph(fn: Any) -> Any:
    """Return the function, or the list of functions, as it is.

    Raises
    ------
    AssertionError
        If it cannot be called.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Mark a function whose result does not change, and return it."""
    fn._dynamo_marked_constant = True
    return fn


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Return the function as it is."""
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")
    return traceable_fn


def disallow_in_graph(fn: Any) -> Any:
    """Return the function, or the list of functions, as it is."""
    return [disallow_in_graph(each) for each in fn] if isinstance(fn, (list, tuple)) else fn


def forbid_in_graph(fn: Any) -> Any:
    """Mark a function that must not be compiled, and return it."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("forbid_in_graph applies only to callables")
    fn._dynamo_forbidden = True
    return fn


def dont_skip_tracing(fn: Any = None) -> Any:
    """Return the function as it is; without one, a decorator that does so."""
    return dont_skip_tracing if fn is None else fn


def disable_nested_graph_breaks(fn: Any = None) -> Any:
    """Return the function as it is; without one, a decorator that does so."""
    return disable_nested_graph_breaks if fn is None else fn


def run(fn: Any = None) -> Any:
    """Return the function as it is; without one, a decorator that does so."""
    return run if fn is None else fn


def graph_break(msg: str = "") -> None:
    """Break the graph: there is none."""


def skip_frame(msg: str = "") -> None:
    """Leave the calling function out: everything is."""


def step_unsupported(msg: str = "") -> None:
    """Break the graph: there is none."""


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
    is_embedded_type: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register another function for the compiler; what is given back calls the original one.

    Raises
    ------
    TypeError
        If one of them cannot be called.

    Notes
    -----
    Same as torch.compiler.substitute_in_graph:
    https://docs.pytorch.org/docs/2.13/generated/torch.compiler.substitute_in_graph.html
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def decorator(traceable_fn):
        if not callable(traceable_fn):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")

        @wraps(original_fn)
        def wrapped(*args, **kwargs):
            return original_fn(*args, **kwargs)

        return wrapped

    return decorator


class set_stance(ContextDecorator):
    """Choose what compiled code does when it would be compiled anew: nothing is compiled.

    Raises
    ------
    RuntimeError
        If a backend is to be forced with another stance than "default".

    Notes
    -----
    Same as torch.compiler.set_stance:
    https://docs.pytorch.org/docs/2.13/generated/torch.compiler.set_stance.html
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        self.stance = stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


class error_on_graph_break(ContextDecorator):
    """Choose whether breaks of the graph are errors: there is no graph."""

    def __init__(self, error_on_graph_break: bool) -> None:
        self.error_on_graph_break = error_on_graph_break

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


def patch_dynamo_config(arg1: Any = None, arg2: Any = None, **kwargs: Any) -> Any:
    """Set settings of torch._dynamo.config within a context or a function."""
    from . import config

    return config.patch(dict(arg1) if isinstance(arg1, tuple) else arg1, arg2, **kwargs)


# ---- marks of tensors ----
def _mark_dims(t, index, name):
    if name not in t.__dict__:
        setattr(t, name, set())
    if isinstance(index, int):
        getattr(t, name).add(index)
    else:
        getattr(t, name).update(index)


def mark_dynamic(t: Any, index: Any, *, hint_override: Any = None, **bounds: Any) -> None:
    """Mark dims of a tensor whose sizes change."""
    _mark_dims(t, index, "_dynamo_dynamic_indices")


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Mark dims of a tensor whose sizes may change."""
    _mark_dims(t, index, "_dynamo_weak_dynamic_indices")


def mark_static(t: Any, index: Any = None) -> None:
    """Mark dims of a tensor whose sizes do not change, or all."""
    if isinstance(t, type):
        t._dynamo_marked_static = True
        return
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static expects a tensor/nn.Module class but received {type(t)}")
    _mark_dims(t, range(t.dim()) if index is None else index, "_dynamo_static_indices")


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Mark a tensor that stays where it is.

    Raises
    ------
    TypeError
        If it is no tensor.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"


# ---- what needs a graph ----
export = _missing.absent_function("rushlight._dynamo", "export")
explain = _missing.absent_function("rushlight._dynamo", "explain")
replay = _missing.absent_function("rushlight._dynamo", "replay")
