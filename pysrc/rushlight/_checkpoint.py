"""How checkpoints are written: the pickle with PyTorch's names in it, and the zip or stream around it."""

import codecs
import collections
import contextlib
import io
import os
import pickle
import stat
import struct
import sys
import types
import zlib
from typing import ClassVar

from . import _C

_STORAGE_NAMES = {
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "bool": "BoolStorage",
    "bfloat16": "BFloat16Storage",
}


class _Name:
    """Stands for a global of PyTorch in the pickle."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise TypeError("a name in a file cannot be called")  # pickle only wants to see that it could be


_FUNCTIONS = {
    name: _Name("torch._utils", name)
    for name in (
        "_rebuild_tensor_v2",
        "_rebuild_meta_tensor_no_storage",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
    )
}
_FUNCTIONS["_rebuild_from_type_v2"] = _Name("torch._tensor", "_rebuild_from_type_v2")
_SIZE, _DEVICE, _TENSOR = _Name("torch", "Size"), _Name("torch", "device"), _Name("torch", "Tensor")
_PARAMETER = _Name("torch.nn.parameter", "Parameter")
_STORAGES = {dtype: _Name("torch", name) for dtype, name in _STORAGE_NAMES.items()}
_STORAGES[None] = _Name("torch.storage", "UntypedStorage")
# What the safe reader knows; every other class or function may only be the type of an object.
_PLAIN = (
    collections.OrderedDict,
    collections.Counter,
    set,
    frozenset,
    bytes,
    bytearray,
    complex,
    codecs.encode,
)


class _Storage:
    """One storage in the file: its name, what kind of storage PyTorch calls it, and its bytes."""

    def __init__(self, key, memory, device, dtype, itemsize):
        self.key, self.dtype = key, dtype
        self.location = "cpu" if device.type == "cpu" else str(device)
        self.data = memoryview(memory)
        self.numel = self.data.nbytes // itemsize


def _dtype_name(tensor):
    return str(tensor.dtype).rpartition(".")[2]


class Pickler(pickle._Pickler):
    """Writes what torch.load(weights_only=True) reads. `storages` holds what must follow the pickle."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol, legacy=False):
        super().__init__(file, protocol=protocol)
        self.legacy = legacy
        self.storages = {}
        self._callees = []

    def persistent_id(self, obj):
        if type(obj) is _C.UntypedStorage:
            obj = self._storage(obj._cdata, obj, obj.device, None, 1)
        if type(obj) is not _Storage:
            return None
        pid = ("storage", _STORAGES[obj.dtype], obj.key, obj.location, obj.numel)
        return (*pid, None) if self.legacy else pid

    def _save_name(self, obj):
        self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode("ascii"))
        self.memoize(obj)

    def _save_dtype(self, obj):
        self.write(b"c" + f"torch\n{str(obj).rpartition('.')[2]}\n".encode("ascii"))
        self.memoize(obj)

    def _save_size(self, obj):
        self.save_reduce(_SIZE, (tuple(obj),), obj=obj)

    def _save_device(self, obj):
        args = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(_DEVICE, args, obj=obj)

    def _save_bytes(self, obj):
        if self.proto < 3 and not obj:
            # the usual form, bytes(), is not known to PyTorch's own safe reader
            self.save_reduce(codecs.encode, ("", "latin1"), obj=obj)
        else:
            pickle._Pickler.save_bytes(self, obj)

    def save_global(self, obj, name=None):
        if not any(obj is allowed for allowed in (*_PLAIN, *self._callees)):
            raise pickle.PicklingError(
                f"cannot save {obj!r}: functions, classes and modules do not belong into a checkpoint. "
                "Save tensors, numbers, text and containers of them, for example model.state_dict()"
            )
        pickle._Pickler.save_global(self, obj, name)

    def save_type(self, obj):
        self.save_global(obj)

    def save_reduce(self, func, args, *rest, **words):
        # a built-in function here is getattr for bound methods: nothing that a checkpoint should hold
        callees = [] if isinstance(func, types.BuiltinFunctionType) else [func]
        if getattr(func, "__name__", "") == "__newobj__" and args:
            callees.append(args[0])
        if type(func) is _Name and func.name == "_rebuild_from_type_v2":
            callees.append(args[1])
        self._callees.extend(callees)
        try:
            pickle._Pickler.save_reduce(self, func, args, *rest, **words)
        finally:
            del self._callees[len(self._callees) - len(callees) :]

    def reducer_override(self, obj):
        if isinstance(obj, _C.Tensor):
            return self._reduce_tensor(obj)
        cls = type(obj)
        module = sys.modules.get("rushlight.nn")
        if module is not None and isinstance(obj, getattr(module, "Module", ())):
            raise pickle.PicklingError(
                f"cannot save the module {cls.__name__} as a whole. Save its state_dict() and load it into a "
                "module made by the same code"
            )
        if cls.__module__.partition(".")[0] == "rushlight" and cls not in self.dispatch:
            raise pickle.PicklingError(f"cannot save an object of {cls.__module__}.{cls.__qualname__}")
        return NotImplemented

    def _storage(self, identity, memory, device, dtype, itemsize):
        storage = self.storages.get(identity)
        if storage is None:
            # PyTorch's older format names storages by address; any text serves
            storage = self.storages[identity] = _Storage(
                str(len(self.storages)), memory, device, dtype, itemsize
            )
        if storage.dtype != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        return storage

    def _storage_of(self, tensor):
        memory, dtype = _C._storage_bytes(tensor), tensor.dtype
        return self._storage(
            _C._storage_id(tensor), memory, tensor.device, _dtype_name(tensor), dtype.itemsize
        )

    def _reduce_tensor(self, tensor):
        plain, parameter = type(tensor) is _C.Tensor, isinstance(tensor, _C.Parameter)
        state = _C._tensor_attributes(tensor)
        hooks = collections.OrderedDict()
        if type(tensor) is _C.Parameter:
            args = (tensor.detach(), tensor.requires_grad, hooks)
            if state:
                return _FUNCTIONS["_rebuild_parameter_with_state"], (*args, state)
            return _FUNCTIONS["_rebuild_parameter"], args
        if tensor.is_meta:
            args = (tensor.dtype, tuple(tensor.size()), tuple(tensor.stride()), tensor.requires_grad)
            return _FUNCTIONS["_rebuild_meta_tensor_no_storage"], args
        args = (
            self._storage_of(tensor),
            tensor.storage_offset(),
            tuple(tensor.size()),
            tuple(tensor.stride()),
            tensor.requires_grad,
            hooks,
        )
        function = _FUNCTIONS["_rebuild_tensor_v2"]
        if plain and not state:
            return function, args
        if parameter and not plain:
            function, args = _FUNCTIONS["_rebuild_parameter"], (tensor.detach(), tensor.requires_grad, hooks)
        kind = _TENSOR if plain else type(tensor)
        return _FUNCTIONS["_rebuild_from_type_v2"], (function, kind, args, state)


Pickler.dispatch[_Name] = Pickler._save_name
Pickler.dispatch[type] = Pickler.save_type
Pickler.dispatch[types.FunctionType] = Pickler.save_global
Pickler.dispatch[bytes] = Pickler._save_bytes
Pickler.dispatch[_C.dtype] = Pickler._save_dtype
Pickler.dispatch[_C.Size] = Pickler._save_size
Pickler.dispatch[_C.device] = Pickler._save_device


_LIMIT = 0xFFFFFFFF


class ZipWriter:
    """The container as PyTorch lays it out: stored records, data on multiples of 64 bytes."""

    def __init__(self, write, prefix, checksums=True):
        self._write, self._prefix, self._checksums = write, prefix, checksums
        self._at = 0
        self._entries = []

    def _put(self, data):
        self._write(data)
        self._at += len(data) if isinstance(data, bytes) else data.nbytes

    def record(self, name, data):
        name = f"{self._prefix}/{name}".encode()
        size = len(data) if isinstance(data, bytes) else data.nbytes
        crc = zlib.crc32(data) if self._checksums else 0
        at, flags = self._at, 0x0808 if size else 0x0800
        wide = b"".join(struct.pack("<QQ", size, size) for _ in range(size >= _LIMIT))
        wide += b"".join(struct.pack("<Q", at) for _ in range(at >= _LIMIT))
        if wide:
            wide = struct.pack("<HH", 1, len(wide)) + wide
        padding = -(at + 30 + len(name) + len(wide) + 4) % 64
        extra = wide + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        self._put(struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(name), len(extra)))
        self._put(name + extra)
        if size:
            self._put(data)
            sizes = struct.pack("<QQ" if wide else "<II", size, size)
            self._put(b"PK\7\x08" + struct.pack("<I", crc) + sizes)
        self._entries.append((name, flags, crc, size, at, wide))

    def close(self):
        names = checksums = 0xCBF29CE484222325
        for name, _, crc, *_ in self._entries:
            names = (names * 0x100000001B3 ^ zlib.crc32(name)) & 0xFFFFFFFFFFFFFFFF
            checksums = (checksums * 0x100000001B3 ^ crc) & 0xFFFFFFFFFFFFFFFF
        self.record(".data/serialization_id", b"%020d%020d" % (names, checksums))
        start = self._at
        for name, flags, crc, size, at, wide in self._entries:
            short, where = min(size, _LIMIT), min(at, _LIMIT)
            head = (
                b"PK\1\2",
                0,
                0,
                flags,
                0,
                0,
                0,
                crc,
                short,
                short,
                len(name),
                len(wide),
                0,
                0,
                0,
                0,
                where,
            )
            self._put(struct.pack("<4sHHHHHHIIIHHHHHII", *head) + name + wide)
        size, count, end = self._at - start, len(self._entries), self._at
        self._put(struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 0x2D, 0, 0, count, count, size, start))
        self._put(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        few = min(count, 0xFFFF)
        tail = (b"PK\5\6", 0, 0, few, few, min(size, _LIMIT), min(start, _LIMIT), 0)
        self._put(struct.pack("<4sHHHHIIH", *tail))


_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001


def is_path(f):
    return isinstance(f, (str, os.PathLike))


def _pickled(obj, protocol, legacy):
    buffer = io.BytesIO()
    pickler = Pickler(buffer, protocol, legacy)
    try:
        pickler.dump(obj)
    except (TypeError, AttributeError) as error:
        raise pickle.PicklingError(f"cannot save this object: {error}") from error
    storages = list(pickler.storages.values())
    pickler.clear_memo()
    return buffer.getvalue(), storages


def zip_writer(obj, prefix, protocol, byteorder, checksums):
    """Pickles now; answers a function that writes the whole zip through put(bytes)."""
    data, storages = _pickled(obj, protocol, False)

    def write(put):
        archive = ZipWriter(put, prefix, checksums)
        archive.record("data.pkl", data)
        archive.record(".format_version", b"1")
        archive.record(".storage_alignment", b"64")
        if byteorder:
            archive.record("byteorder", sys.byteorder.encode())
        for storage in storages:
            archive.record(f"data/{storage.key}", storage.data)
        archive.record("version", b"3\n")
        archive.close()

    return write


def stream_writer(obj, protocol):
    """The same for the older format."""
    data, storages = _pickled(obj, protocol, True)
    storages = {storage.key: storage for storage in storages}
    info = {
        "protocol_version": _PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }

    def write(put):
        for item in (_MAGIC_NUMBER, _PROTOCOL_VERSION, info):
            put(pickle.dumps(item, protocol=protocol))
        put(data)
        put(pickle.dumps(sorted(storages), protocol=protocol))
        for key in sorted(storages):
            put(storages[key].numel.to_bytes(8, "little"))
            put(storages[key].data)

    return write


def write_path(path, write):
    """A new file beside the old one takes its place only when it is complete and on the disk."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:  # a device or pipe; a directory says so itself
            write(file.write)
        return
    temporary = os.path.join(folder, f".saving-{os.getpid()}-{os.urandom(8).hex()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(fd, "wb") as file:
            write(file.write)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def archive_name(path):
    """The folder inside the zip: the file's name up to its last dot."""
    name = os.path.basename(path)
    stem = name.rpartition(".")[0] if "." in name else name
    if not stem:
        raise RuntimeError(f"invalid file name: {path}")
    return stem if path.isascii() else "archive"
