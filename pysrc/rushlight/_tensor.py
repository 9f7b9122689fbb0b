"""Methods of Tensor and Parameter that are thin or rare; attached to the types of the C extension."""

import warnings
from itertools import pairwise
from numbers import Number

from . import _C
from ._arguments import kind as _kind
from ._utils import _reduce_parameter, _reduce_tensor, _set_state

_TITLES = {
    "Byte": _C.uint8,
    "Char": _C.int8,
    "Short": _C.int16,
    "Int": _C.int32,
    "Long": _C.int64,
    "Half": _C.float16,
    "Float": _C.float32,
    "Double": _C.float64,
    "Bool": _C.bool,
    "BFloat16": _C.bfloat16,
    "ComplexHalf": _C.complex32,
    "ComplexFloat": _C.complex64,
    "ComplexDouble": _C.complex128,
    "UInt16": _C.uint16,
    "UInt32": _C.uint32,
    "UInt64": _C.uint64,
    "Float8_e5m2": _C.float8_e5m2,
    "Float8_e4m3fn": _C.float8_e4m3fn,
    "Float8_e5m2fnuz": _C.float8_e5m2fnuz,
    "Float8_e4m3fnuz": _C.float8_e4m3fnuz,
    "Float8_e8m0fnu": _C.float8_e8m0fnu,
    "Float4_e2m1fn_x2": _C.float4_e2m1fn_x2,
    "QInt8": _C.qint8,
    "QUInt8": _C.quint8,
    "QInt32": _C.qint32,
    "QUInt4x2": _C.quint4x2,
    "QUInt2x4": _C.quint2x4,
    "Bits1x8": _C.bits1x8,
    "Bits2x4": _C.bits2x4,
    "Bits4x2": _C.bits4x2,
    "Bits8": _C.bits8,
    "Bits16": _C.bits16,
}
_TYPE_NAMES = {dtype: f"torch.{title}Tensor" for title, dtype in _TITLES.items()}
_TYPE_DTYPES = {name: dtype for dtype, name in _TYPE_NAMES.items()}
_PYTHON_DTYPES = {float: _C.float64, int: _C.int64, bool: _C.bool}

# ---- understanding to(...) ----

_TO_FORMS = """
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, \
*, torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, \
*, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, \
*, torch.memory_format memory_format = None)
"""


def _to_refused(args, kwargs):
    given = [_kind(v) for v in args] + [f"{k}={_kind(v)}" for k, v in kwargs.items()]
    comma = ", " if kwargs and not args else ""
    return TypeError(
        "to() received an invalid combination of arguments - got (" + ", ".join(given) + comma + ")"
        ", but expected one of:" + _TO_FORMS
    )


def _is_device(value):
    return isinstance(value, (_C.device, str)) or (isinstance(value, int) and not isinstance(value, bool))


def _is_dtype(value):
    return isinstance(value, _C.dtype) or (isinstance(value, type) and value in _PYTHON_DTYPES)


def _split_to(args, kwargs):
    """Return device, dtype, non_blocking, copy, memory_format of a call of to()."""
    first = args[0] if args else None
    if isinstance(first, _C.Tensor) or "tensor" in kwargs:
        names = ("tensor", "non_blocking", "copy")
    elif (args and _is_dtype(first)) or (not args and "dtype" in kwargs and "device" not in kwargs):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    if len(args) > len(names):
        raise _to_refused(args, kwargs)
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in given or (name not in names and name != "memory_format"):
            raise _to_refused(args, kwargs)
        given[name] = value
    device, dtype, tensor = given.get("device"), given.get("dtype"), given.get("tensor")
    flags = given.get("non_blocking", False), given.get("copy", False)
    memory_format = given.get("memory_format")
    if (
        (device is not None and not _is_device(device))
        or (dtype is not None and not _is_dtype(dtype))
        or ("tensor" in names and not isinstance(tensor, _C.Tensor))
        or any(not isinstance(flag, bool) for flag in flags)
        or (memory_format is not None and not isinstance(memory_format, _C.memory_format))
    ):
        raise _to_refused(args, kwargs)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if device is not None and not isinstance(device, _C.device):
        device = _C.device(device)
    return device, _PYTHON_DTYPES.get(dtype, dtype), *flags, memory_format


_CHANNELS_LAST = {4: _C.channels_last, 5: _C.channels_last_3d}


def _has_format(tensor, memory_format):
    """Whether to(memory_format=) leaves the tensor as it is."""
    channels_last = _CHANNELS_LAST.get(tensor.dim())
    turned = (
        channels_last is not None
        and not tensor.is_contiguous()
        and tensor.is_contiguous(memory_format=channels_last)
    )
    return memory_format is (channels_last if turned else _C.contiguous_format)


def _need_tensor(value, function, name="other", position=1):
    if not isinstance(value, _C.Tensor):
        given = type(value).__name__
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {given}")


def _caster(name, dtype):
    def cast(self, *args, memory_format=None):
        if args:
            raise TypeError(f"{name}() takes 0 positional arguments but {len(args)} was given")
        return _C._cast(self, dtype, None, False)

    cast.__name__, cast.__qualname__, cast.__module__ = name, f"Tensor.{name}", "rushlight"
    cast.__doc__ = f"Return the tensor as {dtype}; itself when it is that already."
    return cast


# ---- what Tensor gets ----


class _Methods:
    __slots__ = ()

    def __repr__(self, *, tensor_contents=None):
        from ._tensor_str import _str

        return _str(self, tensor_contents=tensor_contents)

    def __format__(self, format_spec):
        if self.dim() == 0 and not self.is_meta and type(self) is _C.Tensor:
            return format(self.item(), format_spec)
        return object.__format__(self, format_spec)

    def __dir__(self):
        return sorted({*dir(type(self)), *getattr(self, "__dict__", ())})

    def __complex__(self):
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return complex(self.item() if self.is_complex() else float(self))

    def __long__(self):
        return int(self)

    def __nonzero__(self):
        return bool(self)

    def __contains__(self, element):
        if isinstance(element, complex) and not isinstance(element, float):
            if element.imag:
                return False  # no element has an imaginary part
            element = element.real
        if isinstance(element, (_C.Tensor, Number)):
            return bool((element == self).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    def __reversed__(self):
        return self.flip(0) if self.dim() else self

    def where(self, condition, other):
        return _C.where(condition, self, other)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user "
                "(graph leaves) support the deepcopy protocol at the moment.  "
                "If you were attempting to deepcopy a module, this may be because "
                "of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        # tensors that share memory share the copy's
        storages = memo.setdefault("torch", {})
        storage = self.untyped_storage()
        key = (storage._cdata, self.dtype)
        if key not in storages:
            count = storage.nbytes() // self.itemsize
            storages[key] = self.detach().as_strided((count,), (1,), 0).clone()
        new = storages[key].as_strided(self.size(), self.stride(), self.storage_offset()).data
        if type(self) is not _C.Tensor:
            new = _C._as_subclass(new, type(self))
        new.requires_grad = self.requires_grad
        if self.grad is not None:
            new.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = new
        state = object.__getstate__(self)
        if state:
            from copy import deepcopy

            _set_state(new, deepcopy(state, memo))
        return new

    def __reduce_ex__(self, proto):
        if self._backward_hooks:
            from .utils.hooks import warn_if_has_hooks

            warn_if_has_hooks(self)
        return _reduce_tensor(self)

    # ---- NumPy ----
    __array_priority__ = 1000  # arrays and their scalars leave binary operators to Tensor

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Make a tensor of what a NumPy function computed; truth values become uint8, as in PyTorch."""
        if array.dtype == bool:
            array = array.astype("uint8")
        return _C.from_numpy(array)

    # ---- moving and casting ----
    def to(self, *args, **kwargs):
        """Move and cast: to(dtype), to(device, dtype), to(other); itself when nothing changes."""
        device, dtype, non_blocking, copy, memory_format = _split_to(args, kwargs)
        if memory_format in (None, _C.preserve_format):
            return _C._cast(self, dtype, device, copy, non_blocking)
        moved = _C._cast(self, dtype, device, False, non_blocking)
        if moved is self and not copy and _has_format(self, memory_format):
            return self
        return moved.clone(memory_format=memory_format)

    def type(self, dtype=None, non_blocking=False, **kwargs):
        """Return the name of the type, such as 'torch.FloatTensor', or the tensor cast to a type."""
        if dtype is None:
            name = _TYPE_NAMES[self.dtype]
            return name if self.is_cpu else name.replace("torch.", f"torch.{self.device.type}.")
        device = None
        if isinstance(dtype, type):
            dtype = getattr(dtype, "_type_name", dtype.__name__)
        if isinstance(dtype, str):
            name, device = dtype, "cpu"
            if name.startswith("torch.cuda."):
                name, device = "torch." + name[len("torch.cuda.") :], "cuda"
            if name not in _TYPE_DTYPES:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = _TYPE_DTYPES[name]
        if not isinstance(dtype, _C.dtype):
            raise TypeError("dtype must be a type, str, or dtype object")
        return _C._cast(self, dtype, device, False)

    def type_as(self, other):
        """Cast to the type of another tensor."""
        _need_tensor(other, "type_as")
        return _C._cast(self, other.dtype, other.device, False)

    def cpu(self, memory_format=None):
        """Return the tensor in the CPU's memory; itself when it is there."""
        return _C._cast(self, None, "cpu", False)

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """Return the tensor on a GPU."""
        return _C._cast(self, None, "cuda" if device is None else device, False, non_blocking)

    def get_device(self):
        """Return the number of the GPU, -1 elsewhere."""
        return self.device.index if self.is_cuda else -1

    def share_memory_(self):
        """Move the storage, and with it all its views, into memory that forked processes share."""
        if not self.is_cuda:
            self.untyped_storage().share_memory_()
        return self

    # ---- shapes as another tensor has them ----
    def view_as(self, other):
        """Return a view with the shape of another tensor."""
        _need_tensor(other, "view_as")
        return self.view(other.size())

    def expand_as(self, other):
        """Expand to the shape of another tensor."""
        _need_tensor(other, "expand_as")
        return self.expand(other.size())

    def reshape_as(self, other):
        """Return the same elements with the shape of another tensor."""
        _need_tensor(other, "reshape_as")
        return self.reshape(other.size())

    # ---- questions ----
    def is_signed(self):
        """Whether the dtype holds negative numbers."""
        return self.dtype.is_signed

    # ---- gradients ----
    @property
    def is_mps(self):
        """Whether the tensor lies on an Apple GPU: never."""
        return False

    @property
    def is_xpu(self):
        """Whether the tensor lies on an Intel GPU: never."""
        return False

    @property
    def names(self):
        """Return the names of the dimensions: there are none."""
        return (None,) * self.dim()

    @property
    def mH(self):
        """Return the transpose of each matrix."""
        if self.dim() < 2:
            raise RuntimeError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
            )
        return self.mT

    @property
    def name(self):
        """None: tensors have no names."""
        return None

    @property
    def volatile(self):
        """False; what it once was is gone."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
        return False

    @property
    def H(self):
        """Return the transpose of a matrix."""
        if self.dim() != 2:
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            )
        return self.T

    def dim_order(self, *, ambiguity_check=False):
        """Return the dimensions from the outermost in memory to the innermost."""
        strides = self.stride()
        formats = ambiguity_check if isinstance(ambiguity_check, list) else []
        known = all(isinstance(each, _C.memory_format) for each in formats)
        if not isinstance(ambiguity_check, (bool, list)) or not known:
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        if ambiguity_check is not False:
            several = 1 in self.shape or any(a == b for a, b in pairwise(strides))
            if several and sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
                raise RuntimeError(
                    "The tensor does not have unique dim order, or cannot map to exact one of the given "
                    "memory formats."
                )
        return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))

    def lu(self, pivot=True, get_infos=False):
        """linalg.lu_factor(), or with get_infos linalg.lu_factor_ex()."""
        results = _C._lu_with_info(self, pivot=pivot, check_errors=False)
        return tuple(results) if get_infos else tuple(results)[:2]

    def is_shared(self):
        """Whether forked processes share the numbers."""
        return self.is_cuda or self.untyped_storage().is_shared()


class _ParameterMethods:
    __slots__ = ()

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self):
        return "Parameter containing:\n" + _C.Tensor.__repr__(self)

    def __reduce_ex__(self, proto):
        return _reduce_parameter(self)


def _attach(source, target):
    for name, value in vars(source).items():
        if name in ("__module__", "__doc__", "__slots__", "__qualname__"):
            continue
        if callable(value):
            value.__qualname__ = f"{target.__name__}.{name}"
            value.__module__ = "rushlight"
        setattr(target, name, value)


_attach(_Methods, _C.Tensor)
_attach(_ParameterMethods, _C.Parameter)
for _name, _dtype in {
    "float": _C.float32,
    "double": _C.float64,
    "half": _C.float16,
    "bfloat16": _C.bfloat16,
    "int": _C.int32,
    "long": _C.int64,
    "short": _C.int16,
    "char": _C.int8,
    "byte": _C.uint8,
    "bool": _C.bool,
    "cdouble": _C.complex128,
    "cfloat": _C.complex64,
    "chalf": _C.complex32,
}.items():
    setattr(_C.Tensor, _name, _caster(_name, _dtype))
_C.Tensor.__div__, _C.Tensor.__rdiv__ = _C.Tensor.__truediv__, _C.Tensor.__rtruediv__
_C.Tensor.__idiv__ = _C.Tensor.__itruediv__
