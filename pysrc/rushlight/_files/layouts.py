"""What files hold beside strided tensors: sparse and quantized ones, kept as checked containers of parts."""

import math

from .. import _C
from .._tensor_str import _tensor_text, _with_suffixes
from .._utils import _new_file_tensor

_COMPRESSED = {  # layout: which index comes first, the dimension it runs over, are there blocks?
    _C.sparse_csr: ("crow", "col", 0, False),
    _C.sparse_csc: ("ccol", "row", 1, False),
    _C.sparse_bsr: ("crow", "col", 0, True),
    _C.sparse_bsc: ("ccol", "row", 1, True),
}


def _need(condition, why):
    if not condition:
        raise RuntimeError(f"a sparse tensor is malformed: {why}")


def _numbers(t):
    """The values for NumPy, which lacks a few dtypes."""
    narrow = (_C.bfloat16, _C.float8_e5m2, _C.float8_e4m3fn, _C.float8_e5m2fnuz, _C.float8_e4m3fnuz)
    if t.dtype in narrow:
        return t.detach().to(_C.float32).numpy()
    return (t.detach().to(_C.complex64) if t.dtype is _C.complex32 else t.detach()).numpy()


def _index_values(t, ndim, what):
    _need(isinstance(t, _C.Tensor) and t.dtype in (_C.int64, _C.int32) and t.dim() == ndim, what)
    return t.cpu().numpy()


class _Sized:
    """What follows from a shape."""

    ndim = property(lambda self: len(self.shape))

    def dim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return math.prod(self.shape)

    def __reduce__(self):
        return _new_file_tensor, (type(self).__name__,), self.__dict__


class SparseTensor(_Sized):
    """A sparse tensor out of a file: its parts, to_dense(), and no arithmetic."""

    requires_grad = False
    is_quantized = False

    def __init__(self, layout, parts, size, is_coalesced=False, checked=True):
        self.layout, self._parts, self.shape = layout, tuple(parts), _C.Size(size)
        self._coalesced = bool(is_coalesced)
        _need(all(type(n) is int and n >= 0 for n in size), "sizes must be integers of at least 0")
        _need(all(isinstance(p, _C.Tensor) for p in parts), "its parts must be tensors")
        if checked:
            self._check()

    def _check(self):
        if self.is_sparse:
            self._check_coordinates()
        else:
            self._check_compressed()

    def _check_coordinates(self):
        indices, values = self._parts
        found = _index_values(indices, 2, "indices must be a matrix of integers")
        sparse, count = found.shape
        _need(values.dim() >= 1 and values.shape[0] == count, "indices and values differ in number")
        _need(sparse + values.dim() - 1 == len(self.shape), "its dimensions contradict its size")
        _need(tuple(values.shape[1:]) == tuple(self.shape[sparse:]), "its values contradict its size")
        for row, size in zip(found, self.shape[:sparse], strict=True):
            _need(count == 0 or (row.min() >= 0 and row.max() < size), "an index is out of range")

    def _check_compressed(self):
        first, second, values = self._parts
        major, minor, nnz = self._compressed_sizes()
        starts = _index_values(first, 1, "compressed indices must be a vector of integers")
        plain = _index_values(second, 1, "plain indices must be a vector of integers")
        _need(len(starts) == major + 1 and len(plain) == nnz, "its indices contradict its size")
        _need(starts[0] == 0 and starts[-1] == nnz, "its compressed indices must go from 0 to nnz")
        _need((starts[1:] >= starts[:-1]).all(), "its compressed indices must not fall")
        _need(nnz == 0 or (plain.min() >= 0 and plain.max() < minor), "an index is out of range")
        inside = plain[1:] > plain[:-1]
        inside[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < nnz)] - 1] = True
        _need(inside.all(), "its plain indices must rise in every slice")

    def _compressed_sizes(self):
        values = self._parts[2]
        _, _, dim, blocks = _COMPRESSED[self.layout]
        _need(len(self.shape) == 2 and values.dim() == (3 if blocks else 1), "batches are not supported")
        block = tuple(values.shape[1:]) if blocks else (1, 1)
        _need(all(block) and all(n % b == 0 for n, b in zip(self.shape, block, strict=True)), "its blocks")
        sizes = [n // b for n, b in zip(self.shape, block, strict=True)]
        return sizes[dim], sizes[1 - dim], values.shape[0]

    dtype = property(lambda self: self._parts[-1].dtype)
    device = property(lambda self: self._parts[-1].device)
    is_sparse = property(lambda self: self.layout is _C.sparse_coo)
    is_sparse_csr = property(lambda self: self.layout is _C.sparse_csr)

    def is_coalesced(self):
        return self._coalesced

    def _file_parts(self):
        parts = (*self._parts, self.shape)
        return (*parts, self._coalesced) if self.is_sparse else parts

    def _nnz(self):
        return self._parts[-1].shape[0]

    def _part(self, name):
        names = ("", "indices") if self.is_sparse else _COMPRESSED[self.layout][:2]
        if self.is_sparse and name == "indices":
            return self._parts[0]
        if not self.is_sparse and name in names:
            return self._parts[names.index(name)]
        raise RuntimeError(f"{name} are not part of a tensor of layout {self.layout}")

    def indices(self):
        return self._part("indices")

    def crow_indices(self):
        return self._part("crow")

    def col_indices(self):
        return self._part("col")

    def ccol_indices(self):
        return self._part("ccol")

    def row_indices(self):
        return self._part("row")

    def values(self):
        return self._parts[-1]

    def to_dense(self):
        """A strided tensor; values at the same place are added."""
        import numpy as np

        values = _numbers(self._parts[-1])
        dense = np.zeros(tuple(self.shape), values.dtype)
        if self.is_sparse:
            np.add.at(dense, tuple(self._parts[0].numpy()), values)
        else:
            self._add_slices(np, dense, values)
        return _C.as_tensor(dense).to(self.dtype)

    def _add_slices(self, np, dense, values):
        first, plain = self._parts[0].numpy(), self._parts[1].numpy()
        _, _, dim, blocks = _COMPRESSED[self.layout]
        major = np.repeat(np.arange(len(first) - 1), np.diff(first))
        rows, columns = (major, plain) if dim == 0 else (plain, major)
        if not blocks:
            dense[rows, columns] = values
            return
        height, width = values.shape[1:]
        grid = dense.reshape(dense.shape[0] // height, height, dense.shape[1] // width, width)
        grid[rows, :, columns, :] = values

    def __repr__(self):
        names = ("indices",) if self.is_sparse else (f"{n}_indices" for n in _COMPRESSED[self.layout][:2])
        texts = []
        for name, part in zip((*names, "values"), self._parts, strict=True):
            inner = _tensor_text(part, len(name) + 15) if part.numel() else "[]"
            texts.append(f"{name}=tensor({inner})")
        suffixes = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if self.dtype not in (_C.get_default_dtype(), _C.int64, _C.bool):
            suffixes.append(f"dtype={self.dtype}")
        suffixes.append(f"layout={self.layout}")
        return _with_suffixes("tensor(" + ",\n       ".join(texts), suffixes, 7, self.is_sparse)


class QuantizedTensor(_Sized):
    """A quantized tensor out of a file: whole numbers, scale and zero point; no arithmetic."""

    is_quantized = True
    is_sparse = requires_grad = False
    _WHOLE = {_C.qint8: _C.int8, _C.quint8: _C.uint8, _C.qint32: _C.int32}  # noqa: RUF012

    def __init__(self, data, scheme, scale, zero_point, axis=None, place=None):
        self._data, self._scheme, self._scale, self._zero = data, scheme, scale, zero_point
        self._axis, self._place = axis, place  # place: of numbers that share bytes, in those numbers
        if axis is None:
            return
        size = self.shape
        good = 0 <= axis < len(size) and scale.dim() == zero_point.dim() == 1
        if not good or scale.numel() != size[axis] or zero_point.numel() != size[axis]:
            raise RuntimeError("a quantized tensor is malformed: scales and zero points contradict its sizes")

    shape = property(lambda self: _C.Size(self._place[1]) if self._place else self._data.shape)
    dtype = property(lambda self: self._data.dtype)
    device = property(lambda self: self._data.device)

    def stride(self):
        return tuple(self._place[2]) if self._place else self._data.stride()

    def storage_offset(self):
        return self._place[0] if self._place else self._data.storage_offset()

    def untyped_storage(self):
        return self._data.untyped_storage()

    def qscheme(self):
        if self._axis is not None and self._zero.is_floating_point():
            return _C.per_channel_affine_float_qparams  # files call it per_channel_affine, too
        return self._scheme

    def q_scale(self):
        return self._scale

    def q_zero_point(self):
        return self._zero

    def q_per_channel_scales(self):
        return self._scale

    def q_per_channel_zero_points(self):
        return self._zero

    def q_per_channel_axis(self):
        return self._axis

    def int_repr(self):
        """The whole numbers as they lie there."""
        whole = self._WHOLE.get(self.dtype)
        if whole is None:
            raise NotImplementedError(f"packed numbers of {self.dtype} are kept, not read")
        return _C.tensor(self._data.tolist(), dtype=whole).view(*self.shape)

    def dequantize(self):
        """float32: (whole - zero point) * scale."""
        whole = self.int_repr().to(_C.float32)
        if self._axis is None:
            return (whole - self._zero) * self._scale
        shape = [-1 if d == self._axis else 1 for d in range(self.dim())]
        zero, scale = (t.to(_C.float32).view(*shape) for t in (self._zero, self._scale))
        return (whole - zero) * scale

    def _file_parts(self):
        parts = self._scheme, self._scale, self._zero
        return parts if self._axis is None else (*parts, self._axis)

    def __repr__(self):
        known = self.dtype in self._WHOLE
        text = _tensor_text(self.dequantize(), 7) if known and self.numel() else "[]" if known else "..."
        suffixes = [
            f"size={tuple(self.shape)}",
            f"dtype={self.dtype}",
            f"quantization_scheme={self.qscheme()}",
        ]
        suffixes += [f"scale={self._scale}", f"zero_point={self._zero}"]
        suffixes += [] if self._axis is None else [f"axis={self._axis}"]
        return _with_suffixes("tensor(" + text, suffixes, 7, False)


def sparse(layout, data, checked=True):
    """What torch._utils._rebuild_sparse_tensor makes; `checked`: the indices are there already."""
    if layout is _C.sparse_coo:
        *parts, size = data[:3]
        return SparseTensor(layout, parts, size, len(data) > 3 and data[3], checked)
    return SparseTensor(layout, data[:3], data[3], checked=checked)


SHARES = {_C.quint4x2: 2, _C.quint2x4: 4}  # elements in a byte


def checked_place(offset, size, stride, capacity):
    """Return (offset, size, stride), which must lie within `capacity` elements."""
    numbers = (offset, *size, *stride)
    good = len(size) == len(stride) and all(type(n) is int and n >= 0 for n in numbers)
    last = offset - 1 if 0 in size else offset + sum((n - 1) * s for n, s in zip(size, stride, strict=good))
    if not good or last >= capacity:
        raise RuntimeError("a quantized tensor reaches outside of its storage")
    return offset, tuple(size), tuple(stride)
