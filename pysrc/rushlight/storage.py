"""Storages: a tensor's memory as bytes (UntypedStorage) and as numbers (TypedStorage)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence

from . import _C, _missing
from ._C import UntypedStorage
from ._untyped import _CASTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from rushlight._C import dtype
    from rushlight.types import Device

__all__ = ["TypedStorage", "UntypedStorage"]

_TITLES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt8Storage": "quint8",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
}
_DTYPES = {name: getattr(_C, dtype) for name, dtype in _TITLES.items() if hasattr(_C, dtype)}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_WHOLE = {_C.quint8: _C.uint8, _C.quint4x2: _C.uint8, _C.quint2x4: _C.uint8}
_WHOLE |= {_C.qint32: _C.int32, _C.qint8: _C.int8}
_state = {"warned": False, "always": False}


def _warn_typed_storage_removal(stacklevel=2):
    if _state["warned"] and not _state["always"]:
        return
    _state["warned"] = True
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
        "storage class. This should only matter to you if you are using storages directly.  To access "
        "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _set_always_warn_typed_storage_removal(always_warn):
    _state["always"] = always_warn


def _reset_warn_typed_storage_removal():
    _state["warned"] = False


def _warned(function):
    def method(self, *args, **kwargs):
        _warn_typed_storage_removal()
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


_LEGACY_FORMS = """{}.__new__ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""
_FORMS = """TypedStorage.__init__ received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""


def _is_count(value):
    return isinstance(value, int) or (type(value).__module__ == "numpy" and hasattr(value, "__index__"))


def _check_data(args, forms):
    if len(args) > 1:
        raise RuntimeError(forms + "Too many positional arguments")
    if args and not _is_count(args[0]) and not isinstance(args[0], Sequence):
        raise TypeError(forms + f"Argument type not recognized: {type(args[0])}")


def _check_wrapped(args, wrap_storage, forms):
    if args:
        raise RuntimeError(forms + "No positional arguments should be given when using 'wrap_storage'")
    if not isinstance(wrap_storage, UntypedStorage):
        raise TypeError(
            forms + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
        )


class TypedStorage:
    """A storage that knows the dtype of its elements.

    Tensors need no such thing; it is here because files hold them.
    """

    is_sparse = False
    dtype: Any = None

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            _warn_typed_storage_removal()
        if cls.dtype is None:
            return object.__new__(cls)
        forms = _LEGACY_FORMS.format(cls)
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(forms + f"Keyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            _check_data(args, forms)
        else:
            _check_wrapped(args, wrap_storage, forms)
            if wrap_storage.device.type != "cpu":
                raise RuntimeError(
                    forms + f"Device of 'wrap_storage' must be cpu, but got {wrap_storage.device.type}"
                )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)

    def __init__(
        self,
        *args: Any,
        wrap_storage: Any = None,
        dtype: dtype | None = None,
        device: Device = None,
        _internal: bool = False,
    ) -> None:
        if hasattr(self, "_untyped_storage"):
            return  # FloatStorage(...) has made one
        if wrap_storage is not None:
            if dtype is None and not args:
                raise RuntimeError(_FORMS + "Argument 'dtype' must be specified")
            _check_wrapped(args, wrap_storage, _FORMS)
            if not isinstance(dtype, _C.dtype):
                raise TypeError(_FORMS + f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if device is not None:
                raise RuntimeError(
                    _FORMS + "Argument 'device' should not be specified when 'wrap_storage' is given"
                )
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = _C.get_default_dtype() if dtype is None else dtype
        device = _C.device("cpu" if device is None else device)
        _check_data(args, _FORMS)
        if not args:
            self._untyped_storage = UntypedStorage(device=device)
        elif _is_count(args[0]):
            self._untyped_storage = UntypedStorage(int(args[0]) * self.dtype.itemsize, device=device)
        else:
            plain = _WHOLE.get(self.dtype, self.dtype)
            self._untyped_storage = _C.tensor(args[0], dtype=plain, device=device).untyped_storage()

    def _flat(self):
        return _C._flat_tensor(self._untyped_storage, _WHOLE.get(self.dtype, self.dtype))

    def _wrapped(self, untyped):
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    def _size(self):
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def _cast(self, dtype):
        return TypedStorage(
            wrap_storage=self._flat().to(dtype, copy=True).untyped_storage(), dtype=dtype, _internal=True
        )

    def _info(self):
        return (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self._untyped_storage.device}) "
            f"of size {self._size()}]"
        )

    @_warned
    def untyped(self) -> Any:
        """Return the same memory as bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> Any:
        """Whether it lies on a GPU."""
        return self._untyped_storage.is_cuda

    @property
    def is_hpu(self) -> Any:
        """Whether it lies on a Gaudi: never."""
        return False

    @property
    def filename(self) -> Any:
        """The file that what is written goes to, or None."""
        return self._untyped_storage.filename

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @_warned
    def element_size(self) -> Any:
        """Return the bytes of one element."""
        return self.dtype.itemsize

    @_warned
    def nbytes(self) -> Any:
        """Return the number of bytes."""
        return self._untyped_storage.nbytes()

    @_warned
    def __len__(self) -> int:
        return self._size()

    @_warned
    def size(self) -> Any:
        """Return the number of elements."""
        return self._size()

    @_warned
    def data_ptr(self) -> Any:
        """Return the address of the first element."""
        return self._untyped_storage.data_ptr()

    def pickle_storage_type(self) -> Any:
        """Return the name of the class in files, such as FloatStorage."""
        return _NAMES[self.dtype]

    @_warned
    def tolist(self) -> Any:
        """Return the elements as a list."""
        return self._flat().tolist()

    @_warned
    def __iter__(self) -> Any:
        return iter(self._flat().tolist())

    @_warned
    def __getitem__(self, index: Any) -> Any:
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -self._size() <= index < self._size():
            raise IndexError(f"index {index} out of range for storage of size {self._size()}")
        return self._flat()[index].item()

    @_warned
    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._flat()[index] = value

    @_warned
    def fill_(self, value: float) -> Any:
        """Set every element."""
        self._flat().fill_(value)
        return self

    @_warned
    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Copy the elements of another storage of the same size."""
        self._untyped_storage.copy_(source, non_blocking)
        return self

    @_warned
    def clone(self) -> Any:
        """Return a copy with memory of its own."""
        return self._wrapped(self._untyped_storage.clone())

    @_warned
    def resize_(self, size: Any) -> None:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    @_warned
    def resizable(self) -> Any:
        """Whether resize_() may move the memory."""
        return self._untyped_storage.resizable()

    @_warned
    def get_device(self) -> Any:
        """Return the number of the GPU."""
        return self._untyped_storage.get_device()

    @_warned
    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """Return the name of the class, such as 'torch.FloatStorage'."""
        if dtype is not None:
            return self._untyped_storage.type(dtype, non_blocking)
        prefix = "torch." if self._untyped_storage.device.type == "cpu" else "torch.cuda."
        return prefix + _NAMES[self.dtype]

    @_warned
    def cpu(self) -> Any:
        """Return the storage in the CPU's memory."""
        return self._wrapped(self._untyped_storage.cpu())

    @_warned
    def cuda(self, device: Device = None, non_blocking: bool = False) -> Self:
        """Return the storage on a GPU."""
        if self.dtype in _WHOLE:
            raise RuntimeError("Cannot create CUDA storage with quantized dtype")
        return self._wrapped(self._untyped_storage.cuda(device, non_blocking))

    @_warned
    def to(self, *, device: Device, non_blocking: bool = False) -> Self:
        """Return the storage on a device."""
        return self._wrapped(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    @_warned
    def is_shared(self) -> Any:
        """Whether forked processes share the memory."""
        return self._untyped_storage.is_shared()

    @_warned
    def share_memory_(self) -> Any:
        """Move the bytes into memory that forked processes share."""
        self._untyped_storage.share_memory_()
        return self

    def _share_fd_cpu_(self):
        descriptor, size = self._untyped_storage._share_fd_cpu_()
        return descriptor, size // self.dtype.itemsize

    def _new_shared(self, size, *, device=None):
        device = self.device if device is None else device
        return self._wrapped(UntypedStorage._new_shared(size * self.dtype.itemsize, device=device))

    def _weak_ref(self):
        return self._untyped_storage._weak_ref()

    @_warned
    def is_pinned(self, device: Device = None) -> Any:
        """Whether the memory is locked for a GPU's copies: never."""
        return False

    @_warned
    def pin_memory(self, device: Device = None) -> Any:
        """RuntimeError: there is no accelerator."""
        return self._wrapped(self._untyped_storage.pin_memory(device))

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: Any = 0) -> Any:
        """Return a storage over the first elements of a file."""
        _warn_typed_storage_removal()
        dtype = cls.dtype or _C.get_default_dtype()
        untyped = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: dtype | None = None, device: Device = None, **kwargs: Any) -> Any:
        """Return a storage with a copy of what a buffer has."""
        _warn_typed_storage_removal()
        for name, value in (("dtype", dtype), ("device", device)):
            if value is not None and cls.dtype is not None:
                raise RuntimeError(
                    f"from_buffer: '{name}' can only be specified in "
                    "UntypedStorage.from_buffer and TypedStorage.from_buffer"
                )
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {_C.device(device).type}")
        dtype = cls.dtype or dtype or _C.get_default_dtype()
        untyped = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @_warned
    def __repr__(self):
        if self._untyped_storage.device.type == "meta":
            return "...\n" + self._info()
        return " " + "\n ".join(map(str, self._flat().tolist())) + "\n" + self._info()

    __str__ = __repr__

    @_warned
    def __copy__(self):
        return self._wrapped(self._untyped_storage.clone())

    @_warned
    def __deepcopy__(self, memo):
        return self._wrapped(copy.deepcopy(self._untyped_storage, memo))

    def __sizeof__(self):
        return object.__sizeof__(self) + self._untyped_storage.nbytes()

    def __reduce__(self):
        return _typed, (self._untyped_storage, self.dtype)


def _caster(name, dtype):
    @_warned
    def cast(self):
        return self._cast(dtype)

    cast.__name__, cast.__doc__ = name, f"Return the storage with its elements as {dtype}."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(TypedStorage, _name, _caster(_name, getattr(_C, _dtype)))


def _typed(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


class _LegacyStorageMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _legacy(name, dtype):
    body = {"dtype": dtype, "__module__": "rushlight", "__doc__": f"A TypedStorage of {dtype}."}
    return _LegacyStorageMeta(name, (TypedStorage,), body)


globals().update({name: _legacy(name, dtype) for name, dtype in _DTYPES.items()})
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
