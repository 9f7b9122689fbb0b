"""What PyTorch says about arguments that a function written in Python does not take."""

from __future__ import annotations

import functools

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PYTHON_DTYPES = {float: _C.float64, int: _C.int64, bool: _C.bool, complex: _C.complex128}


def kind(value):
    """Return the name of an argument's type as PyTorch prints it."""
    if isinstance(value, _C.Parameter):
        return "Parameter"
    if isinstance(value, _C.Tensor):
        return "Tensor"
    if isinstance(value, (_C.dtype, _C.device, _C.memory_format, _C.layout, _C.Size)):
        return "torch." + type(value).__name__
    return type(value).__name__


def wrong(function, name, position, wanted, value):
    """Make the TypeError for an argument of another type; position is 0 for one without."""
    place = f" (position {position})" if position else ""
    return TypeError(f"{function}(): argument '{name}'{place} must be {wanted}, not {kind(value)}")


def tensor(function: Any, name: str, position: Any, value: float) -> None:
    """Refuse what is no tensor."""
    if not isinstance(value, _C.Tensor):
        raise wrong(function, name, position, "Tensor", value)


def dtype(function: Any, value: float) -> Any:
    """Return the dtype; float, int and bool stand for one."""
    if value is None or isinstance(value, _C.dtype):
        return value
    if isinstance(value, type) and value in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[value]
    raise wrong(function, "dtype", 0, "torch.dtype", value)


def truth(function, name, value):
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise wrong(function, name, 0, "bool", value)


def sizes(function, name, position, value):
    """Return a tuple of integers."""
    if isinstance(value, (list, tuple)):
        try:
            return tuple(n.__index__() for n in value)
        except AttributeError:
            at, n = next((at, n) for at, n in enumerate(value) if not hasattr(n, "__index__"))
        if at:
            text = f'at pos {at + 1} with error "type must be tuple of ints,but got {kind(n)}"'
            raise TypeError(f"{function}(): argument '{name}' failed to unpack the object {text}")
        text = f"must be tuple of ints, but found element of type {kind(n)} at pos 0"
        raise TypeError(f"{function}(): argument '{name}' (position {position}) {text}")
    raise wrong(function, name, position, "tuple of ints", value)


def _refusal(name, signature, skipped, args, kwargs):
    """Return PyTorch's text where the arguments do not fit, else None."""
    parameters = list(signature.parameters.values())[skipped:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = [p.name for p in parameters if p.default is p.empty]
    args = args[skipped:]
    if len(args) > len(plain):
        least, most = len(needed), len(plain)
        expected = (
            f"{most} positional argument" if least == most else f"from {least} to {most} positional arguments"
        )
        if least == most and most != 1:
            expected += "s"
        return f"{name}() takes {expected} but {len(args)} {'was' if len(args) == 1 else 'were'} given"
    missing = [n for n in needed if n not in kwargs and n not in plain[: len(args)]]
    if missing:
        names = ", ".join(f'"{n}"' for n in missing)
        words = "required positional arguments" if len(missing) == 1 else "required positional argument"
        return f"{name}() missing {len(missing)} {words}: {names}"
    for key in kwargs:
        if key not in signature.parameters:
            return f"{name}() got an unexpected keyword argument '{key}'"
        if key in plain[: len(args)]:
            return f"{name}() got multiple values for argument '{key}'"
    return None


def as_pytorch(function):
    """Decorate a function: calls that do not fit its signature raise PyTorch's TypeError."""
    name = function.__name__

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError:
            import inspect

            signature = inspect.signature(function)
            skipped = 1 if next(iter(signature.parameters)) == "self" else 0
            text = _refusal(name, signature, skipped, args, kwargs)
            if text is None:
                raise
        raise TypeError(text)

    return call
