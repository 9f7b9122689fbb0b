"""What the writer of pickles does not know by itself: how each kind of object appears in PyTorch's files."""

import codecs
import collections
import copyreg
import functools
import types

from .. import _C, storage
from . import layouts
from .names import torch_name


class _Name:
    """Stands for a function or class of PyTorch."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise TypeError("a name in a file cannot be called")  # pickle only wants to see that it could be


_SIZE, _DEVICE = _Name("torch", "Size"), _Name("torch", "device")
_LAYOUT = _Name("torch.serialization", "_get_layout")
_SPARSE, _QUANTIZED = (
    _Name("torch._utils", "_rebuild_sparse_tensor"),
    _Name("torch._utils", "_rebuild_qtensor"),
)


def _name(known, protocol, legacy):
    module, (owner, _, last) = known.module, known.name.rpartition(".")
    if owner and protocol < 4:  # names with dots came later
        return getattr, (_Name(module, owner), last)
    if protocol < 3:  # the names of Python 2, as PyTorch writes them
        module = {"builtins": "__builtin__", "copyreg": "copy_reg"}.get(module, module)
    return f"{module}\n{known.name}"


def _global(obj, protocol, legacy, name=None):
    return _name(_Name(*torch_name(obj, name)), protocol, legacy)


def _size(size, protocol, legacy):
    return _SIZE, (tuple(size),)


def _device(device, protocol, legacy):
    return _DEVICE, ((device.type,) if device.index is None else (device.type, device.index))


def _dtype(dtype, protocol, legacy):
    return "torch\n" + str(dtype).rpartition(".")[2]


def _layout(layout, protocol, legacy):
    return _LAYOUT, (str(layout),)


def _bytes(data, protocol, legacy):
    # the shorter form of b"", bytes(), is not known to PyTorch's own safe reader
    return codecs.encode, (str(data, "latin1"), "latin1")


def _bytearray(data, protocol, legacy):
    return bytearray, ((bytes(data),) if data else ())


def _in_order(values):
    """The elements of a set in an order that depends on them alone."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _set(values, protocol, legacy):
    return type(values), (_in_order(values),)


def _untyped(memory, protocol, legacy):
    return "storage", _C._flat_tensor(memory, _C.uint8), False


def _sparse(tensor, protocol, legacy):
    return _SPARSE, (tensor.layout, tensor._file_parts())


def _quantized(tensor, protocol, legacy):
    memory = storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)
    parts = memory, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor._file_parts()
    return _QUANTIZED, (*parts, False, collections.OrderedDict())


_EXACT = {
    _Name: _name,
    _C.Size: _size,
    _C.device: _device,
    _C.dtype: _dtype,
    _C.layout: _layout,
    _C.memory_format: _dtype,
    _C.qscheme: _dtype,
    _C.UntypedStorage: _untyped,
    layouts.SparseTensor: _sparse,
    layouts.QuantizedTensor: _quantized,
    bytes: _bytes,
    bytearray: _bytearray,
    set: _set,
    frozenset: _set,
    type: _global,
    types.FunctionType: _global,
    types.BuiltinFunctionType: _global,
}


def _is_method(obj):
    owner = getattr(obj, "__self__", None)
    return owner is not None and not isinstance(owner, types.ModuleType)


def describe(obj, protocol, legacy):
    """Return "module\\nname", ("storage", flat tensor, typed), or what __reduce_ex__ returns."""
    known = _EXACT.get(type(obj))
    if known is not None and not _is_method(obj):
        return known(obj, protocol, legacy)
    if isinstance(obj, type):
        return _global(obj, protocol, legacy)
    if isinstance(obj, storage.TypedStorage):
        return "storage", _C._flat_tensor(obj._untyped_storage, obj.dtype), True
    registered = copyreg.dispatch_table.get(type(obj))
    if registered is not None:
        what = registered(obj)
    else:
        what = obj.__reduce_ex__(protocol)
    if isinstance(what, str):
        return _global(obj, protocol, legacy, what)
    if isinstance(what, tuple) and what and getattr(what[0], "__name__", "") == "__newobj_ex__":
        cls, args, words = what[1]
        return functools.partial(cls.__new__, cls, *args, **words), (), *what[2:]
    return what
