"""Functions that a class or a mode answers itself, through ``__torch_function__``.

A class that defines ``__torch_function__(cls, func, types, args=(), kwargs=None)`` is asked whenever one of
its objects is an argument; a :class:`TorchFunctionMode` is asked for every call in its ``with`` block.
https://docs.pytorch.org/docs/2.13/torch.overrides.html
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache, wraps

from . import _C, _overrides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Self

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "redispatch_function",
]
has_torch_function = _C._has_torch_function
has_torch_function_unary = has_torch_function_variadic = _C._has_torch_function_variadic


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Return what the mode, or a class among relevant_args, answers for ``public_api(*args, **kwargs)``.

    Raises TypeError when all of them return NotImplemented.
    """
    return _C._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Any) -> Any:
    """Make a function overridable: ``dispatcher(*args, **kwargs)`` returns those whose classes are asked."""

    def inner(func):
        @wraps(func)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function again, from within an answer, with the next class to ask."""
    return func(*args, **(kwargs or {}))


def is_tensor_like(inp: Any) -> Any:
    """Whether an object is a Tensor or has a ``__torch_function__``."""
    return isinstance(inp, _C.Tensor) or hasattr(inp, "__torch_function__")


@lru_cache(None)
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the members whose results stay what they are, whatever the class."""
    return {_C.Tensor._base.__get__, _C.Tensor.grad.__get__}


# ---- what can be overridden ----
def _namespaces():
    import rushlight
    from rushlight import linalg
    from rushlight.nn import functional

    yield "torch", rushlight
    yield "torch.nn.functional", functional
    yield "torch.linalg", linalg
    yield "torch.Tensor", _C.Tensor


def _members(space):
    for name in dir(space):
        if space is not _C.Tensor and (name.startswith("_") or name[0].isupper()):
            continue
        member = getattr(space, name, None)
        if member is None or isinstance(member, type(_C)) or isinstance(member, type):
            continue
        if callable(member) and member not in get_ignored_functions():
            yield name, member
        elif hasattr(member, "__get__") and not callable(member):
            yield f"{name}.__get__", member.__get__


@lru_cache(None)
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return public functions that no class can answer: they take no tensor, or make one."""
    import rushlight

    names = """arange as_tensor empty eye from_numpy full full_like get_default_dtype get_num_threads
    initial_seed is_grad_enabled is_inference_mode_enabled is_storage is_tensor linspace load manual_seed
    no_grad ones rand randint randn randperm save seed set_default_dtype set_num_threads set_printoptions
    tensor tril_indices triu_indices zeros""".split()
    functions = {getattr(rushlight, name) for name in names if hasattr(rushlight, name)}
    members = "__class__ __delattr__ __dir__ __getattribute__ __init__ __init_subclass__ __new__ __setattr__"
    members = [*members.split(), "__subclasshook__", "__sizeof__", "__reduce__", "__torch_function__", "new"]
    return functions | {getattr(_C.Tensor, name) for name in members if hasattr(_C.Tensor, name)}


@lru_cache(None)
def _overridable():
    functions, names = {}, {}
    for space_name, space in _namespaces():
        for name, member in _members(space):
            functions.setdefault(space, []).append(member)
            names.setdefault(member, f"{space_name}.{name}")
    return functions, names


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return ``{namespace: functions}`` of what a class can answer."""
    return {space: list(functions) for space, functions in _overridable()[0].items()}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return ``{function: one that takes the same and returns -1}`` for all of them."""
    return {
        func: lambda *args, **kwargs: -1 for functions in _overridable()[0].values() for func in functions
    }


def resolve_name(f: Any) -> Any:
    """Return the public name of a function that can be overridden, else None."""
    if isinstance(f, str):
        return f
    return _overridable()[1].get(f)


@lru_cache(None)
def _tensor_members():
    return set(_overridable()[0][_C.Tensor])


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method or the getter of a property of Tensor."""
    return func in _tensor_members() or getattr(func, "__name__", None) in (
        "__get__",
        "__set__",
        "__delete__",
    )


# ---- modes ----
class TorchFunctionMode:
    """Asked for every call in its ``with`` block, through its method ``__torch_function__``.

    The method is called as ``(func, types, args=(), kwargs=None)``; while it runs the mode itself is off.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self) -> Self:
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object of the class: ``with cls(...)``."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_overloaded_args(relevant_args):
    found = []
    for arg in relevant_args:
        if not has_torch_function_unary(arg) or any(type(arg) is type(other) for other in found):
            continue
        at = next((i for i, other in enumerate(found) if issubclass(type(arg), type(other))), len(found))
        found.insert(at, arg)
    return found


def _len_torch_function_stack():
    return len(_C._torch_function_stack())


def _get_current_function_mode_stack():
    return list(_C._torch_function_stack())


def _get_current_function_mode():
    stack = _C._torch_function_stack()
    return stack[-1] if stack else None


@contextmanager
def enable_reentrant_dispatch() -> Any:
    """Ask classes and modes again within an answer."""
    before = _C._set_torch_function_asking(_overrides.ASK_ALL)
    try:
        yield
    finally:
        _C._set_torch_function_asking(before)
