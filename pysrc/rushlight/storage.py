"""Storages: a tensor's memory as bytes (UntypedStorage) and as numbers (TypedStorage)."""

from . import _C, _missing
from ._C import UntypedStorage

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


class TypedStorage:
    """A storage that knows the dtype of its elements.

    Tensors need no such thing; it is here because files hold them.
    """

    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        self.dtype = dtype or self.dtype or _C.get_default_dtype()
        if wrap_storage is None:
            values = args[0] if args else 0
            count = values if isinstance(values, int) else len(values)
            flat = _C.empty(count, dtype=self.dtype, device=device or "cpu")
            if not isinstance(values, int):
                flat.copy_(_C.tensor(values, dtype=self.dtype))
            wrap_storage = flat.untyped_storage()
        self._untyped_storage = wrap_storage

    def _flat(self):
        return _C._flat_tensor(self._untyped_storage, self.dtype)

    def untyped(self):
        """Return the same memory as bytes."""
        return self._untyped_storage

    @property
    def device(self):
        """Where the memory lies."""
        return self._untyped_storage.device

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def element_size(self):
        """Return the bytes of one element."""
        return self.dtype.itemsize

    def nbytes(self):
        """Return the number of bytes."""
        return self._untyped_storage.nbytes()

    def __len__(self):
        return self.nbytes() // self.element_size()

    size = __len__

    def data_ptr(self):
        """Return the address of the first element."""
        return self._untyped_storage.data_ptr()

    def pickle_storage_type(self):
        """Return the name of the class in files, such as FloatStorage."""
        return _NAMES[self.dtype]

    def tolist(self):
        """Return the elements as a list."""
        return self._flat().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        chosen = self._flat()[index]
        return chosen.item() if chosen.dim() == 0 else TypedStorage(chosen.tolist(), dtype=self.dtype)

    def __setitem__(self, index, value):
        self._flat()[index] = value

    def fill_(self, value):
        """Set every element."""
        self._flat().fill_(value)
        return self

    def clone(self):
        """Return a copy with memory of its own."""
        flat = self._flat().clone()
        return type(self)(wrap_storage=flat.untyped_storage(), dtype=self.dtype, _internal=True)

    def __str__(self):
        numbers = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{numbers}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {len(self)}]"
        )

    __repr__ = __str__

    def __reduce__(self):
        return TypedStorage, (self.tolist(),), {"dtype": self.dtype}

    def __setstate__(self, state):
        self.__init__(self.tolist(), **state)


def _typed(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


class _LegacyStorageMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _legacy(name, dtype):
    body = {"dtype": dtype, "__module__": "rushlight", "__doc__": f"A TypedStorage of {dtype}."}
    return _LegacyStorageMeta(name, (TypedStorage,), body)


globals().update({name: _legacy(name, dtype) for name, dtype in _DTYPES.items()})
__getattr__ = _missing.lacks(__name__)
