"""The arguments of Module.to: three overloads, as Tensor.to has them."""

import rushlight

_COMMON = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None"
_OVERLOADS = (
    f"(torch.device device = None, torch.dtype dtype = None, {_COMMON})",
    f"(torch.dtype dtype, {_COMMON})",
    f"(Tensor tensor, {_COMMON})",
)
_NAMES = (
    ("device", "dtype", "non_blocking", "copy"),
    ("dtype", "non_blocking", "copy"),
    ("tensor", "non_blocking", "copy"),
)


def _is_device(value) -> bool:
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, (str, int, rushlight.device))


def _is_dtype(value) -> bool:
    return isinstance(value, rushlight.dtype) or value in (float, int, bool)


def _fits(name: str, value, required: bool) -> bool:
    if name == "device":
        return _is_device(value)
    if name == "dtype":
        return (value is None and not required) or _is_dtype(value)
    if name == "tensor":
        return isinstance(value, rushlight.Tensor)
    if name == "memory_format":
        return value is None or isinstance(value, rushlight.memory_format)
    return isinstance(value, bool)


def _bind(names, args, kwargs):
    """The arguments by name, or None where this overload does not take them."""
    if len(args) > len(names):
        return None
    bound = dict(zip(names, args, strict=False))
    if bound.keys() & kwargs.keys() or kwargs.keys() - {*names, "memory_format"}:
        return None
    bound.update(kwargs)
    required = names[0] if names[0] != "device" else None
    if required and required not in bound:
        return None
    if not all(_fits(name, value, name == required) for name, value in bound.items()):
        return None
    return bound


def _type_text(value) -> str:
    if isinstance(value, rushlight.Tensor):
        return type(value).__name__
    for kind in ("dtype", "device", "memory_format"):
        if isinstance(value, getattr(rushlight, kind)):
            return f"torch.{kind}"
    return type(value).__name__


def _refuse(args, kwargs):
    got = [_type_text(value) for value in args]
    got += [f"{name}={_type_text(value)}" for name, value in kwargs.items()]
    tail = ", " if kwargs and not args else ""
    lines = "".join(f" * {overload}\n" for overload in _OVERLOADS)
    raise TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(got)}{tail}), "
        f"but expected one of:\n{lines}"
    )


def _dtype_object(dtype):
    builtin = {float: rushlight.float64, int: rushlight.int64, bool: rushlight.bool}
    return builtin.get(dtype, dtype)


def parse_to(args, kwargs):
    """Return device, dtype, non_blocking and memory_format; None where nothing was asked for."""
    for names in _NAMES:
        bound = _bind(names, args, kwargs)
        if bound is not None:
            break
    else:
        _refuse(args, kwargs)
    if bound.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device, dtype = bound.get("device"), _dtype_object(bound.get("dtype"))
    if "tensor" in bound:
        device, dtype = bound["tensor"].device, bound["tensor"].dtype
    elif device is not None:
        device = rushlight.device(device)
    return device, dtype, bound.get("non_blocking", False), bound.get("memory_format")
