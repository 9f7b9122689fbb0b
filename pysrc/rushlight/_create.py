"""Tensors from what others made: buffers, arrays, files; and with strides that were asked for."""

from __future__ import annotations

import warnings

from . import _C
from ._arguments import as_pytorch, sizes, truth, wrong
from ._arguments import dtype as _dtype
from ._tensor import _TYPE_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import dtype
    from rushlight.types import Device

_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}
_said = set()


def _warn_once(text):
    if text not in _said:
        _said.add(text)
        warnings.warn(text, UserWarning, stacklevel=4)


def _with_grad(tensor, requires_grad):
    if requires_grad and not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


@as_pytorch
def frombuffer(
    buffer: Any, *, dtype: dtype | None, count: Any = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """Make a tensor on the memory of a buffer, such as a bytearray: changes show on both sides.

    Parameters
    ----------
    buffer : object
        Object with the buffer protocol.
    dtype : dtype
        dtype of the elements.
    count : int, default -1
        Number of elements; negative numbers take all.
    offset : int, default 0
        Bytes to skip.
    requires_grad : bool, default False
        Whether it requires a gradient.

    Returns
    -------
    Tensor
        Of one dimension.

    Raises
    ------
    ValueError
        If the buffer is too short.

    Notes
    -----
    Same as torch.frombuffer: https://docs.pytorch.org/docs/2.13/generated/torch.frombuffer.html

    Examples
    --------
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    dtype = _dtype("frombuffer", dtype)
    if dtype is None:
        raise wrong("frombuffer", "dtype", 0, "torch.dtype", None)
    for name, number in (("count", count), ("offset", offset)):
        if not isinstance(number, int):
            raise wrong("frombuffer", name, 0, "int", number)
    truth("frombuffer", "requires_grad", requires_grad)
    return _with_grad(_C._from_buffer(buffer, dtype, count, offset), requires_grad)


@as_pytorch
def from_file(
    filename: Any,
    shared: Any = None,
    size: Any = 0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor on the bytes of a file, mapped into memory.

    Parameters
    ----------
    filename : str
        File.
    shared : bool, optional
        Write changes to the file, which becomes as long as needed; else they stay in this process.
    size : int, default 0
        Number of elements.
    dtype : dtype, optional
        dtype of the elements; the default one if not given.
    layout : layout, optional
        Accepted.
    device : device, optional
        Accepted; it is on the CPU.
    requires_grad : bool, default False
        Whether it requires a gradient.
    pin_memory : bool, default False
        Accepted.

    Returns
    -------
    Tensor
        Of one dimension.

    Notes
    -----
    Same as torch.from_file: https://docs.pytorch.org/docs/2.13/generated/torch.from_file.html

    Examples
    --------
    >>> import pathlib
    >>> _ = pathlib.Path("bytes.bin").write_bytes(bytes([1, 2, 3]))
    >>> torch.from_file("bytes.bin", size=3, dtype=torch.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    if not isinstance(filename, str):
        raise wrong("from_file", "filename", 1, "str", filename)
    dtype = _dtype("from_file", dtype) or _C.get_default_dtype()
    storage = _C._map_file(filename, bool(shared), size * dtype.itemsize)
    return _with_grad(_C._flat_tensor(storage, dtype), requires_grad)


# ---- asarray ----


def _is_numpy(obj):
    numpy = type(obj).__module__ == "numpy"
    return (numpy or hasattr(obj, "__array_interface__")) and not isinstance(obj, (_C.Tensor, type))


def _of_numpy(obj, dtype):
    """Return a tensor on an array's memory, or of a NumPy scalar; None for others."""
    if not _is_numpy(obj):
        return None
    import numpy

    if isinstance(obj, numpy.generic):
        return _C.tensor(obj) if dtype is None else _C.tensor(obj, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _C.from_numpy(obj) if isinstance(obj, numpy.ndarray) else None


def _of_buffer(obj, dtype):
    try:
        memoryview(obj)
    except TypeError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _C._from_buffer(obj, dtype or _C.get_default_dtype(), -1, 0)
        except ValueError:
            return None


def _foreign(obj, dtype):
    """Return a tensor on somebody else's memory, or None for what has none."""
    tensor = _of_numpy(obj, dtype)
    if tensor is None and hasattr(obj, "__dlpack__"):
        from .utils.dlpack import from_dlpack

        tensor = from_dlpack(obj)
    return _of_buffer(obj, dtype) if tensor is None else tensor


@as_pytorch
def asarray(
    obj: object,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    copy: Any = None,
    requires_grad: Any = None,
) -> Any:
    """Convert an object to a tensor, which shares its memory where that is possible.

    Parameters
    ----------
    obj : object
        Tensor, NumPy array, object with DLPack or the buffer protocol, number, or sequence.
    dtype : dtype, optional
        dtype of the tensor; that of the object if not given.
    device : device, optional
        Where the tensor is; where the object is if not given.
    copy : bool, optional
        True copies always, False never; None copies if it must.
    requires_grad : bool, optional
        Whether it requires a gradient.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If `copy` is False and memory cannot be shared.

    Notes
    -----
    Same as torch.asarray: https://docs.pytorch.org/docs/2.13/generated/torch.asarray.html

    Examples
    --------
    >>> array = np.zeros(2)
    >>> torch.asarray(array)[0] = 1.0
    >>> array
    array([1., 0.])
    """
    dtype = _dtype("asarray", dtype)
    for name, value in (("copy", copy), ("requires_grad", requires_grad)):
        if value is not None:
            truth("asarray", name, value)
    mine = isinstance(obj, _C.Tensor)
    tensor = obj if mine else _foreign(obj, dtype)
    if tensor is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _with_grad(_C.tensor(obj, dtype=dtype, device=device), requires_grad)
    device = tensor.device if device is None else _C.device(device)
    moved, cast = device != tensor.device, dtype not in (None, tensor.dtype)
    if copy is False and moved:
        raise ValueError(f"can't alias tensor from device '{tensor.device}' to '{device}'.")
    if copy is False and cast:
        names = (_TITLE[tensor.dtype], _TITLE[dtype])
        raise ValueError("can't alias tensor with dtype '{}' into dtype '{}'.".format(*names))
    if moved or cast:
        tensor = tensor.to(device=device, dtype=dtype or tensor.dtype, copy=copy is True)
    elif copy:
        tensor = tensor.clone()
    return _graph_of(tensor, requires_grad, mine)


def _graph_of(tensor, requires_grad, mine):
    if requires_grad is None:
        requires_grad = mine and tensor.requires_grad
        if requires_grad:
            _warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of "
                "False. Pass requires_grad=False explicitly to get the old behavior and silence this warning."
            )
    if tensor.requires_grad and not requires_grad:
        return tensor.requires_grad_(False) if mine and tensor.is_leaf else tensor.detach()
    return tensor if tensor.requires_grad else _with_grad(tensor, requires_grad)


# ---- numbers and strides ----


@as_pytorch
def scalar_tensor(
    s: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Make a tensor of one number, without dimensions.

    Parameters
    ----------
    s : int or float
        The number.
    dtype : dtype, optional
        dtype of the tensor; the default one, also for ints, if not given.
    layout : layout, optional
        Accepted.
    device : device, optional
        Where the tensor is.
    pin_memory : bool, default False
        Whether it lies in pinned memory.
    requires_grad : bool, default False
        Whether it requires a gradient.

    Returns
    -------
    Tensor
        The tensor.

    Examples
    --------
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    if not isinstance(s, (int, float, complex)) and not (isinstance(s, _C.Tensor) and s.dim() == 0):
        raise wrong("scalar_tensor", "s", 1, "Number", s)
    dtype = _dtype("scalar_tensor", dtype) or _C.get_default_dtype()
    made = _C.full((), s, dtype=dtype, device=device, pin_memory=pin_memory)
    return _with_grad(made, requires_grad)


def _strided(function, size, stride, dtype, device, requires_grad, pin_memory):
    size, stride = sizes(function, "size", 1, size), sizes(function, "stride", 2, stride)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    tensor = _C.empty(0, dtype=_dtype(function, dtype), device=device, pin_memory=pin_memory)
    _C._set_memory(tensor, _C.UntypedStorage(0, device=tensor.device), 0, size, stride)
    return _with_grad(tensor.pin_memory() if pin_memory else tensor, requires_grad)


@as_pytorch
def empty_strided(
    size: Any,
    stride: int | tuple[int, ...],
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor of given sizes and strides, whose elements are not set.

    Parameters
    ----------
    size : sequence of ints
        Sizes.
    stride : sequence of ints
        Strides, in elements.
    dtype : dtype, optional
        dtype of the tensor; the default one if not given.
    layout : layout, optional
        Accepted.
    device : device, optional
        Where the tensor is.
    requires_grad : bool, default False
        Whether it requires a gradient.
    pin_memory : bool, default False
        Whether it lies in pinned memory.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    RuntimeError
        If the numbers of sizes and strides differ or a size is negative.

    Notes
    -----
    Same as torch.empty_strided: https://docs.pytorch.org/docs/2.13/generated/torch.empty_strided.html

    Examples
    --------
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return _strided("empty_strided", size, stride, dtype, device, requires_grad, pin_memory)


@as_pytorch
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor whose dimensions lie in memory in a given order, and whose elements are not set.

    Parameters
    ----------
    size : sequence of ints
        Sizes.
    physical_layout : sequence of ints
        Order of the dimensions in memory, the outermost first.
    dtype : dtype, optional
        dtype of the tensor; the default one if not given.
    layout : layout, optional
        Accepted.
    device : device, optional
        Where the tensor is.
    requires_grad : bool, default False
        Whether it requires a gradient.
    pin_memory : bool, default False
        Whether it lies in pinned memory.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    RuntimeError
        If the order does not name each dimension once.

    Notes
    -----
    Same as torch.empty_permuted: https://docs.pytorch.org/docs/2.13/generated/torch.empty_permuted.html

    Examples
    --------
    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    size = sizes("empty_permuted", "size", 1, size)
    order = sizes("empty_permuted", "physical_layout", 2, physical_layout)
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for at, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} "
                f"at index {at}).  NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in order[:at]:
            raise RuntimeError("Duplicate dim not allowed")
    stride, step = [0] * len(size), 1
    for dim in reversed(order):
        stride[dim], step = step, step * size[dim]
    return _strided("empty_permuted", size, tuple(stride), dtype, device, requires_grad, pin_memory)
