"""How tensors travel between processes: their memory is shared, and a descriptor of it is sent.

A storage is moved into a file in memory that never had a name (``csrc/core/shared.c``). The process that gets
the descriptor maps the file, with its size checked against the file's own, and knows storages again that it
has already, so that tensors which shared memory on one side do so on the other.

https://docs.pytorch.org/docs/2.13/multiprocessing.html
"""

import os
import threading
from multiprocessing import context, reduction

from .. import _C, _missing, _utils, storage
from ..nn.parameter import Parameter
from ..utils import hooks
from . import _keeper

_NOT_A_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
    "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
    "serializing (e.g., putting it on the queue)."
)


class StorageWeakRef:
    """Tells whether a storage lives, without keeping it alive; equal for one storage."""

    __slots__ = ["_free_weak_ref", "cdata"]

    def __init__(self, storage):
        self._free_weak_ref, self.cdata = _C._weak_storage_free, 0
        self.cdata = storage._weak_ref()

    @classmethod
    def from_weakref(cls, cdata):
        """Take over a weak reference that ``storage._weak_ref()`` made."""
        new = cls.__new__(cls)
        new.cdata, new._free_weak_ref = cdata, _C._weak_storage_free
        return new

    def expired(self):
        """Whether the storage is gone."""
        return _C.UntypedStorage._expired(self.cdata)

    def __del__(self):
        self._free_weak_ref(self.cdata)

    def __hash__(self):
        return self.cdata

    def __eq__(self, other):
        return self is other or self.cdata == other.cdata


class SharedCache(dict):
    """The storages in shared memory that this process has, by what tells their files apart."""

    def __init__(self):
        super().__init__()
        self.limit = 128  # of entries; above it the dead ones go
        self._after_fork()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        self.lock = threading.RLock()  # another thread may have held it when this process was forked

    def get(self, key):
        with self.lock:
            return dict.get(self, key)

    def __setitem__(self, key, reference):
        with self.lock:
            dict.__setitem__(self, key, reference)
            if len(self) > self.limit:
                self.free_dead_references()

    def free_dead_references(self):
        """Forget the storages that are gone."""
        with self.lock:
            for key in [key for key, reference in self.items() if reference.expired()]:
                del self[key]
            self.limit = max(128, 2 * len(self))


shared_cache = SharedCache()


def fd_id(fd):
    """What tells the file of a descriptor from others."""
    status = os.fstat(fd)
    return status.st_ino, status.st_dev


def storage_from_cache(cls, key):
    """The storage that this process has of a file, or None."""
    reference = shared_cache.get(key)
    return None if reference is None else _C.UntypedStorage._new_with_weak_ptr(reference.cdata)


# ---- storages ----
def _rebuilt_storage(cls, fd, size):
    """The storage that this process has of the file, or a new one; closes fd."""
    try:
        key = fd_id(fd)
        known = storage_from_cache(cls, key)
        if known is None or known.nbytes() < size:  # files with names may be mapped in several lengths
            known = cls._new_shared_fd_cpu(fd, size)
            shared_cache[key] = StorageWeakRef(known)
        return known
    finally:
        os.close(fd)


def rebuild_storage_fd(cls, df, size):
    return _rebuilt_storage(cls, df.detach(), size)


def rebuild_storage_filename(cls, manager, handle, size):
    return _rebuilt_storage(cls, _keeper.take(manager, handle), size)


def rebuild_storage_empty(cls):
    return cls()


def rebuild_typed_storage(storage, dtype):
    return _storage_of(storage, dtype)


def rebuild_typed_storage_child(storage, storage_type):
    return storage_type(wrap_storage=storage, _internal=True)


def reduce_typed_storage(storage):
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def reduce_typed_storage_child(storage):
    return rebuild_typed_storage_child, (storage._untyped_storage, type(storage))


def _shareable(storage):
    """The storage itself, or a copy while an array or a buffer holds the memory where it is."""
    return storage if storage.is_shared() or _C._storage_movable(storage) else storage.clone()


def reduce_storage(storage):
    """What pickle is to write for an UntypedStorage, which moves into shared memory."""
    from . import get_sharing_strategy

    if storage.is_cuda:
        raise RuntimeError("Cannot pickle CUDA storage; try pickling a CUDA tensor instead")
    if storage.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    if not storage.nbytes():
        return rebuild_storage_empty, (type(storage),)
    storage = _shareable(storage)
    fd, size = storage._share_fd_cpu_()
    shared_cache[fd_id(fd)] = StorageWeakRef(storage)
    if get_sharing_strategy() == "file_system":
        storage._shared_incref()
        return rebuild_storage_filename, (type(storage), *storage._share_filename_cpu_())
    # a process that is being started inherits the descriptor
    way = reduction.DupFd if context.get_spawning_popen() else _keeper.Sent
    return rebuild_storage_fd, (type(storage), way(fd), size)


# ---- tensors ----
def _storage_of(untyped, dtype):
    return storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def _rebuilt(cls, tensor, requires_grad):
    if cls is Parameter:
        return Parameter(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def rebuild_tensor(cls, storage, metadata):
    """A tensor over a storage, from (storage_offset, size, stride, requires_grad)."""
    storage_offset, size, stride, requires_grad = metadata
    memory = _utils._Memory(storage._flat())
    return _rebuilt(cls, _utils._rebuild_tensor(memory, storage_offset, size, stride), requires_grad)


def rebuild_meta_tensor(cls, size, stride, storage_offset, dtype, nbytes, requires_grad):
    untyped = _C.UntypedStorage(nbytes, device="meta")
    return rebuild_tensor(cls, _storage_of(untyped, dtype), (storage_offset, size, stride, requires_grad))


def reduce_tensor(tensor):
    """What pickle is to write for a Tensor or Parameter: its storage, and how it looks at it.

    RuntimeError for a tensor that needs a gradient and was computed; warns of hooks, which stay here.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NOT_A_LEAF)
    hooks.warn_if_has_hooks(tensor)
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    if tensor.is_meta:
        offset, size, stride = place
        nbytes = tensor.untyped_storage().nbytes()
        args = (type(tensor), size, stride, offset, tensor.dtype, nbytes, tensor.requires_grad)
        return rebuild_meta_tensor, args
    if tensor.is_cuda:
        raise _missing.refuse("a CUDA tensor for another process: send tensor.cpu()")
    return rebuild_tensor, (type(tensor), tensor._typed_storage(), (*place, tensor.requires_grad))


# ---- the memory of tensors of other classes, and of those with attributes, that pickle writes itself ----
def _rebuild_memory(untyped, dtype):
    return _utils._Memory(_storage_of(untyped, dtype)._flat())


def _reduce_memory(memory):
    return _rebuild_memory, (memory.flat.untyped_storage(), memory.flat.dtype)


def init_reductions():
    """Tell the pickler of multiprocessing how storages and tensors travel."""
    for name in storage._TITLES:
        child = getattr(storage, name, None)
        if child is not None:
            reduction.register(child, reduce_typed_storage_child)
    reduction.register(_C.UntypedStorage, reduce_storage)
    reduction.register(storage.TypedStorage, reduce_typed_storage)
    reduction.register(_utils._Memory, _reduce_memory)
    for kind in (_C.Tensor, Parameter):
        reduction.register(kind, reduce_tensor)
