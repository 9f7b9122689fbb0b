"""Files that the user trusts: Python's own unpickler, with rushlight's classes for PyTorch's names."""

import functools
import io
import pickle
import sys

from .. import _C, storage
from .._missing import refuse
from .._utils import _rebuild_from_type_v2, _rebuild_meta_tensor_no_storage, _set_state
from . import layouts
from .names import find, is_torch

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

# ---- the functions that files call ----


def _bytes_of(storage_):
    return storage_ if type(storage_) is _C.UntypedStorage else storage_._untyped_storage


def _tensor(storage_, offset, size, stride):
    flat = _C._flat_tensor(getattr(storage_, "_root", None) or _bytes_of(storage_), storage_.dtype)
    # .data is the same view without a base: a tensor that owns its place
    return flat.as_strided(size, stride, offset + getattr(storage_, "_start", 0)).data


def _needs_values(function):
    """Marks what must know the numbers: its first argument runs a function once they are there."""
    function._needs_values = True
    return function


@_needs_values
def _tensor_v2(later, storage_, offset, size, stride, requires_grad, hooks, metadata=None):
    tensor = _tensor(storage_, offset, size, stride)
    unknown = set(metadata or ()) - {"conj", "neg"}
    if unknown:
        raise refuse(f"a tensor with {', '.join(sorted(map(str, unknown)))}")
    if metadata:
        lazy, tensor = tensor, _C.empty(tuple(size), dtype=tensor.dtype)
        bits = bool(metadata.get("conj")), bool(metadata.get("neg"))
        later(functools.partial(_resolve, tensor.data, lazy, bits))
    return tensor.requires_grad_(requires_grad)


def _resolve(tensor, lazy, bits):
    tensor.copy_(_C._resolve_bits(lazy, *bits))


@_needs_values
def _tensor_v3(later, storage_, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    if isinstance(later, _AtOnce):
        later.order(_bytes_of(storage_), dtype)
    typed = storage.TypedStorage(wrap_storage=_bytes_of(storage_), dtype=dtype, _internal=True)
    return _tensor_v2(later, typed, offset, size, stride, requires_grad, hooks, metadata)


@_needs_values
def _sparse(later, layout, data):
    tensor = layouts.sparse(layout, data, checked=False)
    later(tensor._check)
    return tensor


def _quantized(storage_, offset, size, stride, parameters, requires_grad, hooks):
    scheme, scale, zero, *axis = parameters
    share = layouts.SHARES.get(storage_.dtype)
    if share is None:
        return layouts.QuantizedTensor(
            _tensor(storage_, offset, size, stride), scheme, scale, zero, *axis or (None,)
        )
    bytes_ = _C._flat_tensor(_bytes_of(storage_), storage_.dtype)
    place = layouts.checked_place(offset, size, stride, len(bytes_) * share)
    return layouts.QuantizedTensor(bytes_, scheme, scale, zero, *axis or (None,), place=place)


def _layout(name):
    found = getattr(_C, name.removeprefix("torch."), None)
    if not isinstance(found, _C.layout):
        raise pickle.UnpicklingError(f"{name} is no layout that rushlight has")
    return found


def _nested(*args):
    raise RuntimeError("rushlight does not support nested tensors; convert it with PyTorch before saving")


def _parameter(data, requires_grad, hooks):
    if not isinstance(data, _C.Tensor):
        raise RuntimeError(
            "rushlight does not support Parameters of sparse or quantized tensors; save its data instead"
        )
    return _C.Parameter(data, requires_grad)


def _parameter_with_state(data, requires_grad, hooks, state):
    return _set_state(_parameter(data, requires_grad, hooks), state)


def _from_bytes(data):
    from ..serialization import load

    return load(io.BytesIO(data), weights_only=False)


_FUNCTIONS = {
    "torch._utils": {
        "_rebuild_tensor": _tensor,
        "_rebuild_tensor_v2": _tensor_v2,
        "_rebuild_tensor_v3": _tensor_v3,
        "_rebuild_parameter": _parameter,
        "_rebuild_parameter_with_state": _parameter_with_state,
        "_rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
        "_rebuild_sparse_tensor": _sparse,
        "_rebuild_qtensor": _quantized,
        "_rebuild_nested_tensor": _nested,
    },
    "torch.serialization": {"_get_layout": _layout},
    "torch._tensor": {"_rebuild_from_type_v2": _rebuild_from_type_v2},
    "torch.storage": {"_load_from_bytes": _from_bytes},
}


def _later_generator(later):
    """The class of generators in a stream, whose numbers stand behind the object."""

    class Generator(_C.Generator):
        __slots__ = ()
        _torch_name = ("torch", "Generator")

        def __setstate__(self, state):
            later(functools.partial(super().__setstate__, state))

    later(functools.partial(delattr, Generator, "__setstate__"))
    return Generator


def _class_named(module, name):
    found = _FUNCTIONS.get(module, {}).get(name)
    if found is not None:
        return found
    if module.startswith("torch.nested."):
        return _nested()
    if name.endswith("Storage") and module in ("torch", "torch.cuda", "torch.storage"):
        return getattr(storage, name)
    return find(module, name)


def _decoded(text):
    return text.decode("ascii") if isinstance(text, bytes) else text


def _unpickler(pickle_module):
    class Unpickler(pickle_module.Unpickler):
        def __init__(self, file, load_storage, n_fields, later, **options):
            super().__init__(file, **options)
            self._load_storage, self._n_fields, self._later = load_storage, n_fields, later

        def find_class(self, module, name):
            if not is_torch(module):
                return super().find_class(module, name)
            found = _class_named(module, name)
            if found is _C.Generator and not isinstance(self._later, _AtOnce):
                return _later_generator(self._later)
            return functools.partial(found, self._later) if hasattr(found, "_needs_values") else found

        def persistent_load(self, pid):
            if not isinstance(pid, tuple):
                return self._load_storage(pid)
            kind, *fields = pid
            if isinstance(kind, type):  # of a tar: a class and its source, kept for reading only
                return kind
            kind = _decoded(kind)
            if kind == "module":  # the same, later
                return fields[0]
            if kind != "storage":
                raise pickle.UnpicklingError(
                    f"Unknown typename for persistent_load, expected 'storage' but got '{kind}'"
                )
            if len(fields) != self._n_fields:
                raise pickle.UnpicklingError(
                    f"a persistent id is malformed: {len(fields)} fields describe a storage, not "
                    f"{self._n_fields}"
                )
            cls, key, location, *rest = fields
            return self._load_storage(cls, str(_decoded(key)), _decoded(location), *rest)

    return Unpickler


def _typed(cls, untyped):
    if cls is _C.UntypedStorage:
        return untyped
    return storage.TypedStorage(wrap_storage=untyped, dtype=cls.dtype, _internal=True)


# ---- the three containers ----


class _AtOnce:
    """Runs what must know the numbers of a file that is read storage by storage: they are there."""

    def __init__(self, big_endian=False):
        self._big_endian, self._ordered = big_endian, set()

    def __call__(self, function):
        function()

    def order(self, untyped, dtype):
        """Turn numbers of a dtype that has no class of storages, which the reader took for bytes."""
        if self._big_endian and untyped.device.type != "meta" and untyped._cdata not in self._ordered:
            self._ordered.add(untyped._cdata)
            untyped.byteswap(dtype)


def read_zip(archive, pickle_module, options):
    """Return the object of a zip file whose records `archive` reads."""
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "the file is a TorchScript archive, which rushlight does not read; save the state_dict() of the "
            "original module instead"
        )

    storages = {}

    def load_storage(cls, key, location, numel):
        if key not in storages:
            storages[key] = _typed(cls, archive.storage(cls.__name__, key, location, numel))
        return storages[key]

    later = _AtOnce(archive.has("byteorder") and archive.record("byteorder") == b"big")
    data = io.BytesIO(archive.record("data.pkl"))
    return _unpickler(pickle_module)(data, load_storage, 4, later, **options).load()


def read_tar(tensors, data, pickle_module, options):
    """Return the object of a tar file: its pickle names `tensors`, which are there already."""

    def load_tensor(key):
        try:
            return tensors[int(_decoded(key))]
        except (KeyError, ValueError):
            raise pickle.UnpicklingError(f"no tensor of the file has the key {key!r}") from None

    return _unpickler(pickle_module)(io.BytesIO(data), load_tensor, 0, _AtOnce(), **options).load()


class _PlainUnpickler(pickle.Unpickler):
    """For what stands around the object: numbers and texts, which name nothing."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} has no place outside of the saved object")


def _plain(file):
    return _PlainUnpickler(file).load()


def _check_head(file):
    if _plain(file) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = _plain(file)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    _plain(file)  # sizes of C types, of no use


class _StreamStorages:
    """The storages of a stream: made while the object is read, filled behind it."""

    def __init__(self, restore):
        self._restore = restore
        self._roots = {}

    def __call__(self, cls, key, location, numel, view):
        if key not in self._roots:
            size = 1 if cls is _C.UntypedStorage else cls.dtype.itemsize
            placed = self._restore(_C.UntypedStorage(numel * size), location)
            self._roots[key] = _typed(cls, placed), numel, size
        root = self._roots[key][0]
        if view is None:
            return root
        size, memory = self._roots[key][2], _bytes_of(root)
        _, start, length = view
        part = _C._storage_part(memory, start * size, length * size)
        if cls is not _C.UntypedStorage:
            part = _typed(cls, part)
            part._root, part._start = memory, start  # tensors lie in the whole storage
        return part

    def fill(self, file, keys):
        for key in keys:
            root, numel, size = self._roots[str(_decoded(key))]
            count = int.from_bytes(_exactly(file, 8), "little", signed=True)
            if count != numel:
                raise RuntimeError(f"storage has wrong byte size: expected {numel} got {count}")
            self._bring(_bytes_of(root), _exactly(file, count * size), size)

    @staticmethod
    def _bring(untyped, data, size):
        if sys.byteorder == "big" and size > 1:
            raise refuse("reading storages on a machine with big-endian numbers")
        here = untyped if untyped.device.type == "cpu" else _C.UntypedStorage(len(data))
        io.BytesIO(data).readinto(here)
        if here is not untyped:
            _C._flat_tensor(untyped, _C.uint8).copy_(_C._flat_tensor(here, _C.uint8))


def _exactly(file, count):
    data = file.read(count)
    if len(data) != count:
        raise RuntimeError(
            f"unexpected EOF, expected {count - len(data)} more bytes. The file might be corrupted."
        )
    return data


def read_stream(file, restore, pickle_module, options):
    """Return the object of the older format; `restore` places a storage."""
    _check_head(file)
    storages = _StreamStorages(restore)
    waiting = []
    obj = _unpickler(pickle_module)(file, storages, 5, waiting.append, **options).load()
    storages.fill(file, _plain(file))
    for function in waiting:
        function()
    return obj
