"""New tensors of the dtype and device of another, and the constructors of old: Tensor(2, 3)."""

import warnings
from numbers import Number

from . import _C
from ._arguments import as_pytorch, kind, sizes, truth, wrong
from ._arguments import dtype as _dtype
from ._create import empty_strided

_NEW_FORMS = """
 * (*, torch.device device = None)
{0} * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""


_CPP = {
    _C.float32: "float",
    _C.float64: "double",
    _C.float16: "c10::Half",
    _C.bfloat16: "c10::BFloat16",
    _C.bool: "bool",
    _C.uint8: "unsigned char",
    _C.int8: "signed char",
    _C.int16: "short int",
    _C.int32: "int",
    _C.int64: "long int",
    _C.complex64: "c10::complex<float>",
    _C.complex128: "c10::complex<double>",
}


# ---- the legacy constructors: Tensor(...), FloatTensor(...), x.new(...) ----


def _refuse_new(args, kwargs):
    given = [kind(value) for value in args] + [f"{name}={kind(value)}" for name, value in kwargs.items()]
    if kwargs and not args:
        given.append("")
    wrong_words = ", ".join(sorted(kwargs))
    because = f"      didn't match because some of the keywords were incorrect: {wrong_words}\n"
    return TypeError(
        f"new() received an invalid combination of arguments - got ({', '.join(given)}), but expected one of:"
        + _NEW_FORMS.format(because if kwargs else "")
    )


def _sized(size, dtype, device):
    size = sizes("new", "size", 1, size)
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    return _C.empty(size, dtype=dtype, device=device)


def _is_size(value):
    number = isinstance(value, int) or (type(value).__module__ == "numpy" and hasattr(value, "__index__"))
    return number and not isinstance(value, bool) and not hasattr(value, "__len__")


def legacy_new(args, kwargs, dtype, device="cpu", any_dtype=False):
    """Return what the constructors of old make of their arguments."""
    kwargs = dict(kwargs)
    wanted = kwargs.pop("device", None)
    if wanted is not None and _C.device(wanted).type != _C.device(device).type:
        raise RuntimeError(
            f"legacy constructor expects device type: {_C.device(device).type} "
            f"but device type: {_C.device(wanted).type} was passed"
        )
    if len(kwargs) + bool(args) > 1 or not kwargs.keys() <= {"storage", "other", "size", "data"}:
        raise _refuse_new(args, kwargs)
    if len(args) > 1 or "size" in kwargs:
        return _sized(kwargs.get("size", args), dtype, device)
    if not args and not kwargs:
        return _C.empty(0, dtype=dtype, device=device)
    what = args[0] if args else next(iter(kwargs.values()))
    what = getattr(what, "_untyped_storage", what)
    if isinstance(what, _C.UntypedStorage):
        return _C._flat_tensor(what, dtype)
    if isinstance(what, _C.Tensor):
        return _of_tensor(what, dtype, device, any_dtype)
    if _is_size(what) or isinstance(what, _C.Size):
        return _sized(what if isinstance(what, _C.Size) else (what,), dtype, device)
    if not isinstance(what, str) and not hasattr(what, "__len__"):
        given = "numpy." if type(what).__module__ == "numpy" else ""
        raise TypeError(f"new(): data must be a sequence (got {given}{type(what).__name__})")
    return _C.tensor(what, dtype=dtype, device=device)


def _of_tensor(other, dtype, device, any_dtype):
    if any_dtype or (other.dtype is dtype and other.device.type == _C.device(device).type):
        return other.detach()
    options = (
        "TensorOptions(dtype={}, device={}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )
    wanted, given = options.format(_CPP[dtype], device), options.format(_CPP[other.dtype], other.device)
    raise TypeError(f"expected {wanted} (got {given})")


def _construct(cls, *args, **kwargs):
    made = legacy_new(args, kwargs, _C.get_default_dtype(), any_dtype=True)
    return made if cls is _C.Tensor else _C._as_subclass(made, cls)


# ---- x.new(...), x.new_zeros(...) ----


class _Methods:
    """What Tensor gets."""

    __slots__ = ()

    def new(self, *args, **kwargs):
        """Return a tensor of the same dtype: of sizes, of data, or empty."""
        return legacy_new(args, kwargs, self.dtype, self.device)

    @as_pytorch
    def new_empty_strided(
        self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
    ):
        """Return uninitialised memory of these sizes and strides."""
        return empty_strided(
            size,
            stride,
            dtype=dtype or self.dtype,
            device=device or self.device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )

    @as_pytorch
    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
        """Return a tensor with a copy of data."""
        dtype = _dtype("new_tensor", dtype)
        if isinstance(data, _C.Tensor):
            warnings.warn(
                "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                "sourceTensor.detach().clone().requires_grad_(True), rather than "
                "tensor.new_tensor(sourceTensor).",
                UserWarning,
                stacklevel=3,
            )
            data = data.detach()
            made = data.to(device=device or self.device, dtype=dtype or self.dtype, copy=True)
            return (made.pin_memory() if pin_memory else made).requires_grad_(requires_grad)
        return _C.tensor(
            data,
            dtype=dtype or self.dtype,
            device=device or self.device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )

    @as_pytorch
    def new_full(
        self, size, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
    ):
        """Return a tensor filled with a number."""
        size, dtype = sizes("new_full", "size", 1, size), _dtype("new_full", dtype)
        if not isinstance(fill_value, (Number, _C.Tensor)):
            raise wrong("new_full", "fill_value", 2, "Number", fill_value)
        return _C.full(
            size,
            fill_value,
            dtype=dtype or self.dtype,
            device=device or self.device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )


_OPTIONS = {"size", "dtype", "layout", "device", "requires_grad", "pin_memory"}


def _new_like(name):
    create, method = getattr(_C, name), f"new_{name}"

    def new(self, *size, **options):
        if not size and "size" not in options:
            raise TypeError(f'{method}() missing 1 required positional arguments: "size"')
        for key in options:
            if key not in _OPTIONS:
                raise TypeError(f"{method}() got an unexpected keyword argument '{key}'")
        if "size" in options:
            size = options.pop("size")
        elif len(size) == 1 and not hasattr(size[0], "__index__"):
            size = size[0]
        size = sizes(method, "size", 1, size)
        if any(n < 0 for n in size):
            least = next(n for n in size if n < 0)
            raise RuntimeError(f"Trying to create tensor with negative dimension {least}: {list(size)}")
        options["requires_grad"] = options.get("requires_grad") or False
        truth(method, "requires_grad", options["requires_grad"])
        options["dtype"] = _dtype(method, options.get("dtype")) or self.dtype
        options["device"] = options.get("device") or self.device
        return create(size, **options)

    new.__name__, new.__qualname__, new.__module__ = method, f"Tensor.{method}", "rushlight"
    new.__doc__ = f"Return {name}(size) of the same dtype and device."
    return new


for _name in ("zeros", "ones", "empty"):
    setattr(_C.Tensor, f"new_{_name}", _new_like(_name))
for _name, _value in vars(_Methods).items():
    if callable(_value):
        _value.__qualname__, _value.__module__ = f"Tensor.{_name}", "rushlight"
        setattr(_C.Tensor, _name, _value)
_C.Tensor.__new__ = staticmethod(_construct)
