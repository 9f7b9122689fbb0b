"""TorchScript's decorators, and what it asks of annotations: nothing is compiled, code runs as it is."""

from __future__ import annotations

import inspect
import types
import typing
import warnings
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035  (taken from here)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])


class FunctionModifiers:
    """What a decorator writes into a function's ``_torchscript_modifier``."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def is_scripting() -> bool:
    """Whether TorchScript runs: never.

    Notes
    -----
    Same as torch.jit.is_scripting: https://docs.pytorch.org/docs/2.13/jit_language_reference.html
    """
    return False


# ---- decorators ----
def _mark(function, modifier):
    function._torchscript_modifier = modifier
    return function


def export(fn: _F) -> _F:
    """Mark a method that a ScriptModule shall have, and return it.

    Notes
    -----
    Same as torch.jit.export: https://docs.pytorch.org/docs/2.13/jit.html
    """
    return _mark(fn, FunctionModifiers.EXPORT)


def unused(fn: _F) -> _F:
    """Mark a function or property that TorchScript shall not compile, and return it.

    Notes
    -----
    Same as torch.jit.unused: https://docs.pytorch.org/docs/2.13/generated/torch.jit.unused.html
    """
    if isinstance(fn, property):
        for function in (fn.fget, fn.fset):
            if function is not None:
                _mark(function, FunctionModifiers.UNUSED)
        return fn
    return _mark(fn, FunctionModifiers.UNUSED)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function that stays Python, and return it; with or without parentheses.

    Parameters
    ----------
    drop : bool or callable, default False
        The function, without parentheses. True, which is deprecated, is what unused() says.
    **kwargs
        ``drop_on_export``, an older name of `drop`.

    Raises
    ------
    RuntimeError
        If `drop` is something else.

    Notes
    -----
    Same as torch.jit.ignore: https://docs.pytorch.org/docs/2.13/generated/torch.jit.ignore.html
    """
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    on_export = kwargs.pop("drop_on_export", None)
    if on_export or drop:
        warnings.warn(
            f"ignore({'drop_on_export=True' if on_export else 'True'}) has been deprecated. TorchScript "
            f"will now "
            "drop the function call on compilation. Use torch.jit.unused now. {}",
            FutureWarning,
            stacklevel=2,
        )
        return lambda fn: _mark(fn, FunctionModifiers.UNUSED)
    return lambda fn: _mark(fn, FunctionModifiers.IGNORE)


def _drop(fn: _F) -> _F:
    return _mark(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn: _F) -> _F:
    return _mark(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def get_torchscript_modifier(fn: Any) -> str | None:
    """Return what a decorator wrote into a function; None for what cannot be called."""
    if not callable(fn):
        return None
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", FunctionModifiers.DEFAULT)


def copy_torchscript_modifier(orig: Any, new: Any) -> None:
    """Write what a decorator wrote into a function into another one."""
    modifier = get_torchscript_modifier(orig)
    if modifier is not None:
        _mark(new, modifier)


def is_ignored_fn(fn: Any) -> bool:
    """Whether a decorator keeps TorchScript from compiling a function."""
    modifiers = FunctionModifiers
    return get_torchscript_modifier(fn) in (modifiers.UNUSED, modifiers.IGNORE, modifiers._DROP)


def should_drop(fn: Any) -> bool:
    """Whether a decorator keeps a function out of TorchScript's files."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


class _IgnoreContextManager:
    """A block that stays Python."""

    def __init__(self, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> _IgnoreContextManager:
        return self

    def __exit__(self, *args: object) -> None:
        pass


# ---- overloads ----
_OVERLOAD_EXAMPLE = """
Example usage of overload function:
@torch.jit._overload
def my_function(x: type0) -> type0: # decl 1
    pass

@torch.jit._overload
def my_function(x: type1) -> type1: # decl 2
    pass

def my_function(x):                 # implementation
    if isinstance(x, type0):
        return x
    elif isinstance(x, type1):
        return x
"""


def _check_overload_body(function):
    import ast
    import textwrap

    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        text = f"Unable to retrieve source for @torch.jit._overload function: {function}."
        warnings.warn(text, stacklevel=3)
        return
    body = ast.parse(source).body[0].body
    only = body[0]
    is_ellipsis = isinstance(only, ast.Expr) and getattr(only.value, "value", None) is Ellipsis
    if len(body) == 1 and (isinstance(only, ast.Pass) or is_ellipsis):
        return
    lines = source.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(("def ", "async def ")))
    raise RuntimeError(
        "Only `pass` statement or `...` can be the body of overload declaration:\n"
        + "\n".join(lines[first : first + 3])
        + " <- Expecting `pass` or `...` here!\n"
        + _OVERLOAD_EXAMPLE
    )


def _overload(func: _F) -> _F:
    """Declare one of several signatures of a function: the body is ``pass`` or ``...``.

    Raises
    ------
    RuntimeError
        If the body is something else.
    """
    _check_overload_body(func)
    return func


def _overload_method(func: _F) -> _F:
    """Declare one of several signatures of a method: the body is ``pass`` or ``...``.

    Raises
    ------
    RuntimeError
        If the body is something else.
    """
    _check_overload_body(func)
    return func


# ---- functions of which an argument chooses ----
def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """Make a function that calls if_true or if_false by one of its arguments, given by place or by name."""
    documented = [f for f in (if_true, if_false) if f.__doc__ is not None]
    if len(documented) == 2:
        raise RuntimeError("only one function can have a docstring")

    def fn(*args, **kwargs):
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    if documented:
        if_true.__doc__ = if_false.__doc__ = fn.__doc__ = documented[0].__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn


# ---- annotations ----
class BroadcastingListCls:
    """For annotations: BroadcastingList2[int] is a list of two, or one number that stands for both."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = (BroadcastingListCls() for _ in range(3))


def _origin_is(annotation, *kinds):
    return typing.get_origin(annotation) in kinds


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is that of a tuple."""
    return _origin_is(ann, tuple)


def is_list(ann: Any) -> bool:
    """Whether an annotation is that of a list."""
    return _origin_is(ann, list)


def is_dict(ann: Any) -> bool:
    """Whether an annotation is that of a dict."""
    return _origin_is(ann, dict)


def is_union(ann: Any) -> bool:
    """Whether an annotation is a union."""
    return _origin_is(ann, Union, types.UnionType)


def is_optional(ann: Any) -> bool:
    """Whether an annotation is a union of a type and None."""
    return is_union(ann) and len(typing.get_args(ann)) == 2 and type(None) in typing.get_args(ann)


def is_final(ann: Any) -> bool:
    """Whether an annotation is Final."""
    return ann is Final or _origin_is(ann, Final)


_RAW_NAMES = {dict: "dict", list: "list", tuple: "tuple"}
_RAW_NAMES |= {Dict: "Dict", List: "List", Tuple: "Tuple", Optional: "Optional"}  # noqa: UP006


def _check_has_arguments(target_type):
    name = _RAW_NAMES.get(target_type) if isinstance(target_type, typing.Hashable) else None
    if name is None:
        return
    if name.endswith("ict"):
        raise RuntimeError(
            f"Attempted to use {name} without contained types. Please add contained type, e.g. "
            f"{name}[int, int]"
        )
    raise RuntimeError(
        f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
    )


def _is_of(obj, kind):
    return _contains(obj, kind) if typing.get_origin(kind) else isinstance(obj, kind)


def _contains(obj, target_type):
    """Whether an object is of a parametrized type; in a union the first such type decides, as in PyTorch."""
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (Union, types.UnionType):
        for kind in arguments:
            if typing.get_origin(kind):
                return obj is None or _contains(obj, kind)
            if obj is None or isinstance(obj, kind):
                return True
        return False
    if origin not in (list, dict, tuple):
        return False
    if obj in ([], {}, ()):
        warnings.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For "
            "example, "
            "List[int] would become list and therefore falsely return True for List[float] or List[str].",
            stacklevel=2,
        )
    if not isinstance(obj, origin):
        return False
    if origin is list:
        return all(_is_of(each, arguments[0]) for each in obj)
    if origin is dict:
        return all(isinstance(k, arguments[0]) and _is_of(v, arguments[1]) for k, v in obj.items())
    return len(obj) == len(arguments) and all(map(_is_of, obj, arguments))


def _isinstance(obj: Any, target_type: Any) -> bool:
    """isinstance() that knows list[int] and its like."""
    from collections.abc import Container

    if isinstance(target_type, Container):
        if not isinstance(target_type, tuple):
            raise RuntimeError(
                "The second argument to `torch.jit.isinstance` must be a type or a tuple of types"
            )
        return any(_isinstance(obj, each) for each in target_type)
    _check_has_arguments(target_type)
    if typing.get_origin(target_type):
        return _contains(obj, target_type)
    return isinstance(obj, target_type)
