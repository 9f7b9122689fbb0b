"""Methods of Tensor about memory: other memory, storages, DLPack, elements one by one."""

import warnings
from array import array

from . import _C
from ._arguments import as_pytorch, kind, sizes, wrong
from ._arguments import tensor as need_tensor
from ._tensor_new import _CPP

_SET_FORMS = """
 * ()
      didn't match because some of the arguments have invalid types: ({0})
 * (torch.Storage source)
      didn't match because some of the arguments have invalid types: ({0})
 * (torch.Storage source, int storage_offset, tuple of ints size, tuple of ints stride = None)
 * (Tensor source)
      didn't match because some of the arguments have invalid types: ({0})
 * (Tensor source, int storage_offset, tuple of ints size, tuple of ints stride = None)
"""


def _refuse_grad(tensor, name):
    if tensor.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )


# ---- set_(), resize_() ----


def _source_of(tensor, source):
    """Return a storage that is fit for the tensor, and the tensor that it came from."""
    typed = getattr(source, "_untyped_storage", None)
    if typed is not None and source.dtype is not tensor.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {_CPP[tensor.dtype]} or an UntypedStorage, but got type "
            f"{_C.empty(0, dtype=source.dtype).type()[6:-6]} for argument 1 'storage'"
        )
    if isinstance(source, _C.Tensor):
        if source.dtype is not tensor.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {_CPP.get(source.dtype, source.dtype)} to a tensor of type "
                f"{_CPP.get(tensor.dtype, tensor.dtype)}"
            )
        return source.untyped_storage()
    storage = source if typed is None else typed
    if not isinstance(storage, _C.UntypedStorage):
        raise TypeError(
            f"set_() received an invalid combination of arguments - got ({kind(source)}), "
            "but expected one of:" + _SET_FORMS.format(f"!{kind(source)}!")
        )
    return storage


def _check_set(tensor, storage):
    if storage.device != tensor.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{tensor.device}" to a storage on different '
            f'device "{storage.device}".  This is no longer allowed; the devices must match.'
        )
    if tensor.requires_grad and _C.is_grad_enabled():
        if tensor.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        raise RuntimeError("the derivative for 'set_' is not implemented")


def _dense(size, memory_format):
    order = (0, 2, 3, 1) if memory_format is _C.channels_last else range(len(size))
    stride, step = [0] * len(size), 1
    for dim in reversed(order):
        stride[dim], step = step, step * max(size[dim], 1)
    return tuple(stride)


def _resized(tensor, size, memory_format):
    """Give the tensor dense strides of a size; its storage grows where it must."""
    if tensor.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    wanted = tuple(size)
    if _C.Size(wanted) != tensor.size():
        if any(n < 0 for n in wanted):
            raise RuntimeError("numel: integer multiplication overflow")
        _C._set_memory(tensor, tensor.untyped_storage(), tensor.storage_offset(), wanted, None)
    if memory_format is _C.preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if memory_format is not None:
        if memory_format is _C.channels_last and len(wanted) != 4:
            raise RuntimeError("required rank 4 tensor to use channels_last format")
        stride = _dense(wanted, memory_format)
        _C._set_memory(tensor, tensor.untyped_storage(), tensor.storage_offset(), wanted, stride)
    return tensor


class _Methods:
    """What Tensor gets."""

    __slots__ = ()

    def set_(self, source=None, storage_offset=None, size=None, stride=None):
        """Become a view of a storage, of another tensor's memory, or of nothing."""
        if source is None:
            source = _C.UntypedStorage(0, device=self.device)
        storage = _source_of(self, source)
        _check_set(self, storage)
        if size is None and isinstance(source, _C.Tensor):
            storage_offset, size, stride = source.storage_offset(), source.size(), source.stride()
        elif size is None:
            size, storage_offset = (storage.nbytes() // self.itemsize,), storage_offset or 0
        size = sizes("set_", "size", 3, size)
        stride = None if stride is None else sizes("set_", "stride", 4, stride)
        return _C._set_memory(self, storage, storage_offset or 0, size, stride)

    def resize_(self, *sizes_, size=None, memory_format=None):
        """Change the size in place; elements that are new are uninitialised.

        https://docs.pytorch.org/docs/2.13/generated/torch.Tensor.resize_.html
        """
        size = sizes_ if size is None else (size,)
        if not size:
            raise TypeError('resize_() missing 1 required positional arguments: "size"')
        if memory_format is not None and not isinstance(memory_format, _C.memory_format):
            raise wrong("resize_", "memory_format", 0, "torch.memory_format", memory_format)
        if len(size) == 1 and not hasattr(size[0], "__index__"):
            size = size[0]
        return _resized(self, sizes("resize_", "size", 1, size), memory_format)

    @as_pytorch
    def resize_as_(self, the_template, *, memory_format=None):
        """Change the size in place to another tensor's."""
        need_tensor("resize_as_", "the_template", 1, the_template)
        if memory_format is _C.preserve_format:
            last = the_template.dim() == 4 and the_template.is_contiguous(memory_format=_C.channels_last)
            plain = the_template.is_contiguous() or not last
            memory_format = _C.contiguous_format if plain and not last else _C.channels_last
        return _resized(self, the_template.size(), memory_format)

    def resize(self, *size):
        """Deprecated: reshape()."""
        warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
        return _reshaped(self, size[0] if len(size) == 1 and not isinstance(size[0], int) else size)

    def resize_as(self, tensor):
        """Deprecated: reshape_as()."""
        warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
        return _reshaped(self, tensor.size())

    @as_pytorch
    def is_set_to(self, tensor):
        """Whether both are the same view of the same memory."""
        need_tensor("is_set_to", "tensor", 1, tensor)
        same = self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
        place = self.storage_offset() == tensor.storage_offset()
        return same and place and self.size() == tensor.size() and self.stride() == tensor.stride()

    def const_data_ptr(self):
        """Return the address of the first element."""
        return self.data_ptr()

    def storage(self):
        """Return the memory as a TypedStorage; deprecated: untyped_storage()."""
        from .storage import _warn_typed_storage_removal

        _warn_typed_storage_removal(stacklevel=2)
        return self._typed_storage()

    def _typed_storage(self):
        from .storage import _typed

        return _typed(self.untyped_storage(), self.dtype)

    def storage_type(self):
        """Return the class of its TypedStorage, such as FloatStorage."""
        from . import storage

        return getattr(storage, storage._NAMES[self.dtype])

    def is_pinned(self, device=None):
        """Whether the memory is locked for a GPU's copies."""
        if device is not None:
            warnings.warn(
                "The argument 'device' of Tensor.is_pinned() is deprecated. "
                "Please do not pass this argument.",
                DeprecationWarning,
                stacklevel=2,
            )
        return _C._is_pinned(self)

    def pin_memory(self, device=None):
        """Return a copy in memory that a GPU reads and writes by itself; itself where it is there."""
        return _C._pin_memory(self)

    def record_stream(self, stream):
        """Keep the memory from others until what a stream has to do now is done."""
        from .cuda import Stream

        if not isinstance(stream, Stream):
            raise RuntimeError("unknown parameter type")
        if self.is_cuda and self.numel():
            place = self.device.index, self.data_ptr()
            stream._cuda.memory_record(*place, stream.device_index, stream.cuda_stream)

    # ---- DLPack ----
    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        """Return a capsule on the memory, for another library."""
        from .utils.dlpack import _export

        return _export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """Return DLPack's number of the device."""
        from .utils.dlpack import _number_of

        if self.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        return _number_of(self.device)

    @property
    def __cuda_array_interface__(self):
        """AttributeError: the memory is not a GPU's."""
        if not self.is_cuda:
            raise AttributeError(
                "Can't get __cuda_array_interface__ on non-CUDA tensor type: "
                f"{self.type()} If CUDA data is required use tensor.cuda() to copy tensor to device memory."
            )
        size = self.itemsize
        return {
            "typestr": "<" + _KINDS[self.dtype] + str(size),
            "shape": tuple(self.shape),
            "strides": None if self.is_contiguous() else tuple(step * size for step in self.stride()),
            "data": (self.data_ptr(), False),
            "version": 2,
        }

    def __setstate__(self, state):
        """Take the state that very old files hold."""
        if not self.is_leaf:
            raise RuntimeError("__setstate__ can be only called on leaf Tensors")
        if len(state) == 4:
            self.set_(*state)
            return
        if len(state) == 5:
            self.data, state = state[0], (state[3], state[4], state[2])
        self.requires_grad, _, self._backward_hooks = state

    # ---- element by element, with a Python function ----
    @as_pytorch
    def apply_(self, callable):
        """Replace each element by callable(element). Slow."""
        _refuse_grad(self, "apply_")
        return self if self.is_meta else _mapped(self, callable)

    @as_pytorch
    def map_(self, other, callable):
        """Replace each element by callable(element, the other's element). Slow."""
        need_tensor("map_", "other", 1, other)
        _refuse_grad(self, "map_")
        return _mapped(self, callable, _like(self, other, "map_", "other"))

    @as_pytorch
    def map2_(self, x, y, callable):
        """Replace each element by callable(element, x's, y's). Slow."""
        need_tensor("map2_", "x", 1, x)
        need_tensor("map2_", "y", 2, y)
        _refuse_grad(self, "map2_")
        return _mapped(self, callable, _like(self, x, "map2_", "x"), _like(self, y, "map2_", "y"))


_KINDS = dict.fromkeys((_C.float16, _C.float32, _C.float64), "f") | {_C.bool: "b", _C.uint8: "u"}
_KINDS |= dict.fromkeys((_C.int8, _C.int16, _C.int32, _C.int64), "i")
_KINDS |= dict.fromkeys((_C.complex64, _C.complex128), "c")


def _reshaped(tensor, size):
    size = _C.Size(size)
    if size.numel() != tensor.numel():
        wanted, given = ("x".join(map(str, s)) for s in (size, tensor.size()))
        raise RuntimeError(
            f"requested resize to {wanted} ({size.numel()} elements in total), but the given tensor has a "
            f"size of {given} ({tensor.numel()} elements). autograd's resize can only change the shape of a "
            "given tensor, while preserving the number of elements. "
        )
    return tensor.reshape(size)


def _like(tensor, other, name, argument):
    if other.dtype is not tensor.dtype:
        raise TypeError(f"{name}: expected {tensor.type()} for '{argument}' (got {other.type()})")
    return other.expand(tensor.size())


def _mapped(tensor, function, *others):
    columns = [t.reshape(-1).tolist() for t in (tensor, *others)]
    values = [function(*row) for row in zip(*columns)]
    if tensor.is_floating_point():
        values = array("d", values)
    elif tensor.dtype is not _C.bool and not tensor.is_complex():
        values = array("q", values)
    new = _C.tensor(list(values), dtype=tensor.dtype).reshape(tensor.size())
    tensor.detach().copy_(new)
    return tensor


def _attach():
    for name, value in vars(_Methods).items():
        if name in ("__module__", "__doc__", "__slots__", "__qualname__"):
            continue
        if callable(value):
            value.__qualname__, value.__module__ = f"Tensor.{name}", "rushlight"
        setattr(_C.Tensor, name, value)


_attach()
