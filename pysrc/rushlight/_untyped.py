"""Methods of UntypedStorage that are thin or rare; attached to the type of the C extension."""

import builtins
import os

from . import _C

_new = _C._new_storage
_CASTS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "bfloat16": "bfloat16",
    "complex_double": "complex128",
    "complex_float": "complex64",
    "float8_e5m2": "float8_e5m2",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
}
_FORMS = """
 * (*, int allocator = None, torch.device device = None)
 * (int size, *, int allocator = None, torch.device device = None)
 * (object sequence, *, int allocator = None, torch.device device = None)
"""


def _made(args, kwargs):
    device = kwargs.pop("device", None)
    if len(args) + len(kwargs) > 1 or not kwargs.keys() <= {"size", "sequence"}:
        given = [builtins.type(value).__name__ for value in args]
        given += [f"{name}={builtins.type(value).__name__}" for name, value in kwargs.items()]
        comma = ", " if kwargs and not args else ""
        raise TypeError(
            "torch.UntypedStorage() received an invalid combination of arguments - got "
            f"({', '.join(given)}{comma}), but expected one of:" + _FORMS
        )
    what = args[0] if args else next(iter(kwargs.values()), 0)
    if isinstance(what, int):
        return _new(what, device)
    if not hasattr(what, "__len__") or not hasattr(what, "__getitem__"):
        kind = builtins.type(what).__name__
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {kind}")
    for item in what:
        if not isinstance(item, int):
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({builtins.type(what).__name__}), but one of the items was of type "
                f"{builtins.type(item).__name__} instead of int"
            )
    storage = _new(len(what), device)
    _bytes(storage).copy_(_C.tensor([item & 255 for item in what], dtype=_C.uint8))
    return storage


def _bytes(storage):
    return _C._flat_tensor(storage, _C.uint8)


def _need_memory(storage):
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


def _swapped(data, size):
    """Return bytes with the order turned in each group of `size`."""
    swapped = bytearray(len(data))
    for at in range(size):
        swapped[at::size] = data[size - 1 - at :: size]
    return swapped


class _Methods:
    """What UntypedStorage gets."""

    __slots__ = ()
    is_sparse = False
    is_sparse_csr = False

    @staticmethod
    def __new__(cls, *args, **kwargs):
        return _made(args, kwargs)

    def __getitem__(self, index):
        _need_memory(self)
        size = self.nbytes()
        if isinstance(index, slice):
            start, stop, step = index.indices(size)
            if step != 1:
                raise RuntimeError(
                    f"Trying to slice with a step of {step}, but only a step of 1 is supported"
                )
            return _C._storage_part(self, start, max(stop - start, 0))
        return _bytes(self)[self._place(index)].item()

    def __setitem__(self, index, value):
        _need_memory(self)
        if not isinstance(value, int):
            kind = builtins.type(value).__name__
            raise RuntimeError(f"can only set storage content with a int types, but got {kind} instead")
        if isinstance(index, slice):
            start, stop, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(
                    f"Trying to slice with a step of {step}, but only a step of 1 is supported"
                )
            _bytes(self)[start:stop] = value & 255
        else:
            try:
                place = self._place(index)
            except IndexError:
                raise RuntimeError("out of bounds") from None
            _bytes(self)[place] = value & 255

    def _place(self, index):
        size = self.nbytes()
        if not hasattr(index, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {builtins.type(index).__name__}")
        at = index.__index__()
        at = at + size if at < 0 else at
        if not 0 <= at < size:
            raise IndexError(f"index {at} out of range for storage of size {size}")
        return at

    def __repr__(self):
        info = f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"
        if self.device.type == "meta":
            return "...\n" + info
        return " " + "\n ".join(map(str, self.tolist())) + "\n" + info

    def __iter__(self):
        return iter(self.tolist())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        memo = memo.setdefault("torch", {})
        key = (self._cdata, None)
        if key not in memo:
            memo[key] = self.clone()
        return memo[key]

    def __reduce__(self):
        if self.device.type == "cuda":
            return _loaded_on, (bytes(self.cpu()), str(self.device))
        return _loaded, (bytes(self),)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def tolist(self):
        """Return the bytes as a list of numbers."""
        _need_memory(self)
        return _bytes(self).tolist()

    def fill_(self, value):
        """Set every byte."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {builtins.type(value).__name__}")
        _bytes(self).fill_(value & 255)
        return self

    def copy_(self, source, non_blocking=None):
        """Copy the bytes of another storage of the same size."""
        source = getattr(source, "_untyped_storage", source)
        if not isinstance(source, _C.UntypedStorage):
            kind = "Tensor" if isinstance(source, _C.Tensor) else builtins.type(source).__name__
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {kind}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        _bytes(self).copy_(_bytes(source))
        return self

    def clone(self):
        """Return a copy with memory of its own."""
        return _new(self.nbytes(), self.device).copy_(self)

    def new(self):
        """Return an empty storage on the same device."""
        return _new(0, self.device)

    def untyped(self):
        """Return itself."""
        return self

    def element_size(self):
        """Return the bytes of one element: 1."""
        return 1

    def get_device(self):
        """Return the number of the GPU."""
        return self.device.index

    def type(self, dtype=None, non_blocking=False):
        """Return the name of the type; a storage of another class holds the same bytes."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
        if name == "torch.storage.UntypedStorage":
            return self
        from . import storage

        made = getattr(storage, name.rpartition(".")[2])(len(self))
        return made.copy_(self)

    def cpu(self):
        """Return the storage in the CPU's memory; itself when it is there."""
        return self if self.device.type == "cpu" else self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        """Return the storage on a GPU."""
        return _bytes(self).cuda(device).untyped_storage()

    def to(self, *, device, non_blocking=False):
        """Return the storage on a device; itself when it is there."""
        return _bytes(self).to(device).untyped_storage() if _C.device(device) != self.device else self

    def is_pinned(self, device=None):
        """Whether the memory is locked for a GPU's copies: never."""
        return False

    def pin_memory(self, device=None):
        """RuntimeError: there is no accelerator."""
        return _bytes(self).pin_memory(device).untyped_storage()

    def byteswap(self, dtype):
        """Turn the order of bytes in each element."""
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        _fill(self, _swapped(bytes(self), max(size, 1)))

    @property
    def is_cuda(self):
        """Whether it lies on a GPU."""
        return self.device.type == "cuda"

    @property
    def is_hpu(self):
        """Whether it lies on a Gaudi: never."""
        return False

    @property
    def filename(self):
        """The file that what is written goes to, or None."""
        return _C._mapped_file(self)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """Return a storage over the first bytes of a file; when shared, what is written goes to the file."""
        return _C._map_file(filename, bool(shared), nbytes)

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, *, dtype=None):
        """Return a storage with a copy of what a buffer has: count elements from byte offset on."""
        return _from_buffer(buffer, byte_order, count, offset, dtype)

    # ---- between processes ----
    def _share_fd_cpu_(self):
        """Move the bytes into shared memory; return its descriptor, which stays with it, and the size."""
        if not self.nbytes():
            return -1, 0
        self.share_memory_()
        return _C._storage_fd(self), self.nbytes()

    @classmethod
    def _new_shared_fd_cpu(cls, *args):
        """Return a storage over the first bytes of the file in memory that a descriptor stands for."""
        if len(args) != 2:
            raise RuntimeError("tuple of 2 items expected")
        if not all(isinstance(value, int) for value in args):
            given = ", ".join(builtins.type(value).__name__ for value in args)
            raise TypeError(
                "_new_shared in file descriptor mode received an invalid combination of arguments - got "
                f"({given}), but expected a file descriptor (int) and storage size (int)"
            )
        return _C._storage_from_fd(*args)

    @classmethod
    def _new_using_fd_cpu(cls, size):
        """Return a storage in shared memory."""
        return _C._new_shared_storage(size)

    _new_using_filename_cpu = _new_using_fd_cpu

    def _share_filename_cpu_(self):
        """Move the bytes into shared memory; return its keeper, the name that it has there, and the size."""
        from .multiprocessing import _keeper

        fd, size = self._share_fd_cpu_()
        return _keeper.address(), _keeper.name_of(fd), size

    @classmethod
    def _new_shared_filename_cpu(cls, manager, handle, size):
        """Return a storage over the first bytes of what a keeper has under a name."""
        from .multiprocessing import _keeper

        fd = _keeper.get(manager, handle)
        try:
            return _C._storage_from_fd(fd, size)
        finally:
            os.close(fd)

    def _shared_incref(self):
        """Have the memory kept, once more, for a process that will ask for it."""
        from .multiprocessing import _keeper

        _keeper.put(*self._share_filename_cpu_()[:2], _C._storage_fd(self))

    def _shared_decref(self):
        """Have it kept once less."""
        from .multiprocessing import _keeper

        _keeper.drop(*self._share_filename_cpu_()[:2])
        return self

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        """Return a storage in memory that processes can share; on a GPU all memory is."""
        return _C._new_shared_storage(size) if _C.device(device).type == "cpu" else _new(size, device)

    def _weak_ref(self):
        """Return a number that stands for a weak reference; _free_weak_ref() it."""
        return _C._weak_storage(self)

    @staticmethod
    def _free_weak_ref(weak):
        """Give a weak reference back."""
        _C._weak_storage_free(weak)

    @staticmethod
    def _expired(weak):
        """Whether the storage of a weak reference is gone."""
        return _C._weak_storage_get(weak) is None

    @staticmethod
    def _new_with_weak_ptr(weak):
        """Return the storage of a weak reference, or None when it is gone."""
        return _C._weak_storage_get(weak)


def _from_buffer(buffer, byte_order, count, offset, dtype):
    if dtype is None:
        raise RuntimeError("argument 'dtype' cannot be None")
    size = dtype.itemsize
    if byte_order is None and size > 1:
        raise TypeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in ("big", "little", "native", None):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not '{builtins.type(buffer).__name__}'") from None
    data = view.tobytes()
    if not 0 <= offset <= len(data):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(data)}), but got {offset}"
        )
    if count < 0:
        if (len(data) - offset) % size:
            raise ValueError(f"buffer size ({len(data)}) must be a multiple of element size ({size})")
        count = (len(data) - offset) // size
    if offset + count * size > len(data):
        raise ValueError(
            f"buffer has only {len(data) - offset} elements after offset {offset}, "
            f"but specified a size of {count}"
        )
    data = data[offset : offset + count * size]
    if byte_order == "big":
        data = _swapped(data, size // 2 if dtype.is_complex else size)
    if dtype is _C.bool:
        data = bytes(byte != 0 for byte in data)
    return _loaded(data)


def _fill(storage, data):
    if data:
        _bytes(storage).copy_(_C._from_buffer(bytearray(data), _C.uint8, -1, 0))
    return storage


def _loaded(data):
    storage = _new(len(data), None)
    return _fill(storage, data)


def _loaded_on(data, device):
    return _loaded(data).cuda(device)


def _caster(name, dtype):
    def cast(self):
        from .storage import TypedStorage

        return TypedStorage(wrap_storage=self, dtype=_C.uint8, _internal=True)._cast(dtype)

    cast.__name__, cast.__doc__ = name, f"Return a storage of the bytes as {dtype}."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(_Methods, _name, _caster(_name, getattr(_C, _dtype)))
for _name, _value in list(vars(_Methods).items()):
    if _name not in ("__module__", "__doc__", "__slots__", "__qualname__"):
        setattr(_C.UntypedStorage, _name, _value)
