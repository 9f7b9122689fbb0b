"""Lists of tensors as one buffer and in groups, and other helpers of ``torch._utils``."""

from __future__ import annotations

import sys

from . import _C

__all__ = [
    "_dummy_type",
    "_element_size",
    "_flatten_dense_tensors",
    "_handle_complex",
    "_import_dotted_name",
    "_reorder_tensors_as",
    "_take_tensors",
    "_unflatten_dense_tensors",
    "classproperty",
    "is_compiling",
    "render_call",
    "try_import",
]


# ---- lists of tensors ----
def _flatten_dense_tensors(tensors):
    """Return the elements of some tensors of one dtype in a row, as a new tensor."""
    tensors = list(tensors)
    if len(tensors) == 1:
        return tensors[0].contiguous().view(-1)
    return _C.cat([each.contiguous().view(-1) for each in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Return views of a buffer with the shapes of the tensors of which it was made."""
    views, at = [], 0
    for like in tensors:
        count = like.numel()
        # an empty one is no part of the buffer, which others may write
        views.append(flat.narrow(0, at, count).view(like.shape) if count else flat.new_empty(like.shape))
        at += count
    return tuple(views)


def _take_tensors(tensors, size_limit):
    """Yield lists of tensors of one type that have at most size_limit bytes together, or one tensor each."""
    groups = {}
    for tensor in tensors:
        size, kind = tensor.numel() * tensor.element_size(), tensor.type()
        group, filled = groups.get(kind, ([], 0))
        if group and filled and filled + size > size_limit:
            yield group
            group, filled = [], 0
        group.append(tensor)
        groups[kind] = group, filled + size
    for group, _ in groups.values():
        yield group


def _reorder_tensors_as(tensors, ordered_tensors):
    """Return tensors, which are ordered within their types, in the order of types of the others."""
    by_type = {}
    for tensor in tensors:
        by_type.setdefault(tensor.type(), []).append(tensor)
    waiting = {kind: iter(group) for kind, group in by_type.items()}
    return tuple(next(waiting[like.type()]) for like in ordered_tensors)


def _handle_complex(tensor):
    """Return the tensor; pairs of real numbers in place of complex ones, which have no such view here."""
    if isinstance(tensor, sys.modules["rushlight"].nn.UninitializedParameter) or not tensor.is_complex():
        return tensor
    return sys.modules["rushlight"].view_as_real(tensor)


def _element_size(dtype):
    """Return the bytes of an element."""
    if not isinstance(dtype, _C.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


# ---- names and classes ----
def _import_dotted_name(name):
    first, *others = name.split(".")
    found = __import__(first)
    for part in others:
        found = getattr(found, part)
    return found


def try_import(module_name):
    """Return a module, or None where it is not installed."""
    import importlib.util

    if module_name in sys.modules:
        return sys.modules[module_name]
    if importlib.util.find_spec(module_name) is None:
        return None
    return importlib.import_module(module_name)


class _ClassPropertyDescriptor:
    def __init__(self, fget, fset=None):
        self.fget = fget

    def __get__(self, instance, owner=None):
        owner = type(instance) if owner is None else owner
        return self.fget.__get__(instance, owner)()


def classproperty(func):
    """Make a property of a class, from a function of the class."""
    return _ClassPropertyDescriptor(
        func if isinstance(func, (classmethod, staticmethod)) else classmethod(func)
    )


def _dummy_type(name):
    """Return a class that stands for one which this build lacks: to make an object raises RuntimeError."""

    def refuse(kind):
        raise RuntimeError(f"Tried to instantiate dummy base class {kind.__name__}")

    return type(
        name,
        (object,),
        {
            "__new__": lambda cls, *args, **kwargs: refuse(cls),
            "__init__": lambda self, *args, **kwargs: refuse(type(self)),
        },
    )


def render_call(fn, args, kwargs):
    """Return a call as text, tensors without their elements."""
    from . import _tensor_str, overrides

    with _tensor_str.printoptions(threshold=0, edgeitems=0):
        said = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{overrides.resolve_name(fn) or fn}({', '.join(said)})"


def is_compiling():
    """Whether a program is being compiled: never."""
    import warnings

    warnings.warn(
        "`torch._utils.is_compiling` is deprecated. Use `torch.compiler.is_compiling` instead.", stacklevel=2
    )
    return sys.modules["rushlight"].compiler.is_compiling()
