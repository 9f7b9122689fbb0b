"""Pickling of single tensors: what pickle and copy call; exceptions that travel between processes."""

from __future__ import annotations

import io
import os
import sys

from . import _C


class _Memory:
    """The whole storage of a tensor; copies of a tensor share it, pickles carry its bytes."""

    def __init__(self, flat):
        self.flat = flat

    def __reduce__(self):
        here = self.flat if self.flat.is_cpu else self.flat.cpu()
        return _load_memory, (bytes(here.untyped_storage()), here.dtype, str(self.flat.device))


def _memory_of(tensor):
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    return _Memory(tensor.detach().as_strided((count,), (1,), 0))


def _load_memory(data, dtype, device):
    flat = _C.empty(len(data) // dtype.itemsize, dtype=dtype, device="cpu")
    io.BytesIO(data).readinto(flat.untyped_storage())
    return _Memory(flat if device == "cpu" else flat.to(device))


def _rebuild_tensor(memory, storage_offset, size, stride):
    # .data is the same view without a base: a tensor that owns its place
    return memory.flat.as_strided(size, stride, storage_offset).data


def _rebuild_tensor_v2(memory, storage_offset, size, stride, requires_grad, backward_hooks):
    tensor = _rebuild_tensor(memory, storage_offset, size, stride)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_from_type_v2(func, new_type, args, state):
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = _C._as_subclass(tensor, new_type)
    setstate = getattr(new_type, "__setstate__", _C.Tensor.__setstate__)
    if setstate is not _C.Tensor.__setstate__:
        setstate(tensor, state)
        return tensor
    return _set_state(tensor, state)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return _C.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_state(_C.Parameter(data, requires_grad), state)


def _new_file_tensor(kind):
    """Return an empty SparseTensor or QuantizedTensor, whose state pickle sets."""
    from ._files import layouts

    cls = {"SparseTensor": layouts.SparseTensor, "QuantizedTensor": layouts.QuantizedTensor}[kind]
    return cls.__new__(cls)


def _get_state(tensor):
    """Return what a tensor has been given besides its numbers: its __dict__ and slots, or None."""
    state = object.__getstate__(tensor)
    return state if state else None


def _set_state(tensor, state):
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for values in (attributes, slots):
        for name, value in (values or {}).items():
            setattr(tensor, name, value)
    return tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    flat = _C.empty(1, dtype=dtype, device="meta")
    flat.untyped_storage().resize_((1 + sum((n - 1) * s for n, s in zip(size, stride))) * dtype.itemsize)
    return flat.as_strided(size, stride).data.requires_grad_(requires_grad)


def _reduce_tensor(tensor):
    state = _get_state(tensor)
    if tensor.is_meta:  # torch keeps neither memory nor attributes
        args = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
        return _rebuild_meta_tensor_no_storage, args
    args = (
        _memory_of(tensor),
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.requires_grad,
        None,
    )
    if type(tensor) is _C.Tensor and not state:
        return _rebuild_tensor_v2, args
    return _rebuild_from_type_v2, (_rebuild_tensor_v2, type(tensor), args, state)


def _reduce_parameter(parameter):
    state = _get_state(parameter)
    args = (parameter.data, parameter.requires_grad, None)
    if not state:
        return _rebuild_parameter, args
    return _rebuild_parameter_with_state, (*args, state)


class KeyErrorMessage(str):
    """The text of a KeyError, which shows the repr of its argument: this one's is the text itself."""

    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception as its class and the text of its traceback, to be raised in another thread or process.

    ``exc_info`` is what ``sys.exc_info()`` returns, and by default its answer now; ``where`` says who raised.
    """

    def __init__(self, exc_info=None, where="in background"):
        import traceback

        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raise an exception of the same class that tells the traceback; RuntimeError if none can be made."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(text))
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            exception = self.exc_type(text)
        except Exception:  # a class that wants other arguments
            exception = None
        raise RuntimeError(text) if exception is None else exception


def cpu_count() -> int | None:
    """Return how many processors this process may use, or None where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def __getattr__(name):
    """What few programs ask for comes from modules of its own."""
    from . import _utils_devices, _utils_tensors

    for module in (_utils_devices, _utils_tensors):
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
