"""How files are written: a pickle with PyTorch's names in it, and the zip or the stream around it."""

import codecs
import collections
import contextlib
import copyreg
import functools
import os
import pickle
import stat
import sys
import types

from .. import _C, storage
from . import layouts
from .names import torch_name
from .unpickler import MAGIC_NUMBER, PROTOCOL_VERSION


# ---- how each kind of object appears in PyTorch's files, which the writer of pickles does not know ----
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


def is_path(f):
    return isinstance(f, (str, os.PathLike))


def put_bytes(target, data):
    """Write all of the data to a descriptor, or through a file's write."""
    if callable(target):
        target(data)
        return
    left = memoryview(data)
    while left:
        left = left[os.write(target, left) :]


def parts_writer(parts):
    """Return a function that writes buffers, one behind the other."""

    def write(target):
        if callable(target):
            for part in parts:
                target(part)
            return
        with open(target, "wb", buffering=1 << 20, closefd=False) as file:  # small ones gather in its buffer
            file.writelines(parts)

    return write


def _pickled(obj, protocol, legacy):
    try:
        return _C._save_pickle(obj, protocol, legacy, describe)
    except (TypeError, AttributeError) as error:
        raise pickle.PicklingError(f"cannot save this object: {error}") from error


def zip_writer(obj, prefix, protocol, byteorder, checksums):
    """Pickle now; return a function that writes the whole zip to a descriptor or through put(bytes)."""
    data, storages = _pickled(obj, protocol, False)
    records = [("data.pkl", data), (".format_version", b"1"), (".storage_alignment", b"64")]
    if byteorder:
        records.append(("byteorder", sys.byteorder.encode()))
    records += [(f"data/{key}", memory) for key, memory, *_ in storages]
    records.append(("version", b"3\n"))
    return lambda target: _C._save_zip(target, prefix, records, checksums)


def stream_writer(obj, protocol):
    """The same for the older format."""
    data, storages = _pickled(obj, protocol, True)
    # by the keys as texts, in which order they follow the pickle
    storages.sort()
    info = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }

    def plain(value):
        return _C._save_pickle(value, protocol, True, describe)[0]

    def write(target):
        put = functools.partial(put_bytes, target)
        for value in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
            put(plain(value))
        put(data)
        put(plain([key for key, *_ in storages]))
        for _, memory, numel, _ in storages:
            put(numel.to_bytes(8, "little"))
            put(memory)

    return write


def _old_mode(path):
    """The mode of the file that will be replaced, None without one; and the path behind links."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            path = os.path.realpath(path)
            mode = os.lstat(path).st_mode
    except FileNotFoundError:
        mode = None
    return mode, path


def _fill(fd, mode, write):
    write(fd)
    if mode is not None:
        os.fchmod(fd, stat.S_IMODE(mode))
    os.fsync(fd)


def _write_nameless(temporary, folder, mode, write):
    """Write a file that gets its name when it is complete; False where there is no such thing."""
    try:
        fd = os.open(folder or ".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):  # an old file system, another system, or no such folder
        return False
    try:
        _fill(fd, mode, write)
        try:
            # a src_dir_fd makes it linkat(), which follows the link
            os.link(f"/proc/self/fd/{fd}", temporary, src_dir_fd=fd, follow_symlinks=True)
        except OSError:
            return False
    finally:
        os.close(fd)
    return True


def _write_named(temporary, folder, mode, write):
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except (FileNotFoundError, NotADirectoryError):
        raise RuntimeError(f"Parent directory {os.fsdecode(folder)} does not exist.") from None
    try:
        _fill(fd, mode, write)
    finally:
        os.close(fd)


def _sync_folder(folder):
    fd = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_path(path, write):
    """A new file beside the old one takes its place only when it is complete and on the disk."""
    mode, path = _old_mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:  # a device or pipe; a directory says so itself
            write(file.write)
        return
    folder = os.path.dirname(path)
    name = f".saving-{os.getpid()}-{os.urandom(8).hex()}"
    temporary = os.path.join(folder, name if isinstance(path, str) else os.fsencode(name))
    try:
        if not _write_nameless(temporary, folder, mode, write):
            _write_named(temporary, folder, mode, write)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:  # a full disk: whose?
            error.filename = os.fsdecode(path)
        raise
    _sync_folder(folder)


def archive_name(path):
    """The folder inside the zip: the file's name up to its last dot."""
    name = os.path.basename(path)
    stem = name.rpartition(".")[0] if "." in name else name
    if not stem:
        raise RuntimeError(f"invalid file name: {path}")
    return stem if path.isascii() else "archive"
