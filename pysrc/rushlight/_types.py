"""Types: limits of dtypes, torch.FloatTensor and its kin, the names of types."""

from importlib import import_module

from . import _C
from ._create import _warn_once
from ._tensor import _TYPE_NAMES
from ._tensor_new import legacy_new


def is_storage(obj):
    """Is it the memory of a tensor?"""
    return isinstance(obj, _C.UntypedStorage) or isinstance(
        getattr(obj, "_untyped_storage", None), _C.UntypedStorage
    )


def typename(obj):
    """Return the name of the object's type, 'torch.FloatTensor' for a tensor."""
    if isinstance(obj, _C.Tensor):
        return obj.type()
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", None)
    prefix = "" if module in (None, "builtins", "__builtin__") else module + "."
    return prefix + owner.__qualname__


class finfo:
    """The limits of a floating dtype."""

    # mantissa bits, largest number, smallest normal number, decimal digits
    _FACTS = {
        _C.float16: (10, 65504.0, 2.0**-14, 3),
        _C.bfloat16: (7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2),
        _C.float32: (23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 6),
        _C.float64: (52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 15),
    }

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        if dtype not in self._FACTS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        mantissa, self.max, self.smallest_normal, digits = self._FACTS[dtype]
        self.min = -self.max
        self.tiny = self.smallest_normal
        self.eps = 2.0**-mantissa
        self.resolution = 10.0**-digits
        self.bits = dtype.itemsize * 8
        self.dtype = str(dtype).removeprefix("torch.")

    def __repr__(self):
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type):
        if not isinstance(type, _C.dtype) or type.is_floating_point or type is _C.bool:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        self.bits = type.itemsize * 8
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.dtype = str(type).removeprefix("torch.")

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)


def set_default_tensor_type(t):
    """Deprecated: set_default_dtype()."""
    _warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        home, _, name = t.rpartition(".")
        home = "rushlight" if home == "torch" else home or name
        t = getattr(import_module(home), name)
    if not isinstance(t, _LegacyType):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _C.set_default_dtype(t.dtype)


# ---- torch.FloatTensor and its kin ----


class _LegacyType(type):
    def __call__(cls, *args, **kwargs):
        return legacy_new(args, kwargs, cls.dtype)

    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and obj.is_cpu and obj.dtype is cls.dtype


def _legacy_types():
    """Return the classes by their names, one for each dtype."""
    found = {}
    for dtype, name in _TYPE_NAMES.items():
        short = name.removeprefix("torch.")
        doc = f"Makes {dtype} tensors, and tells by isinstance whether one is."
        members = {"dtype": dtype, "_type_name": name, "__module__": "rushlight", "__doc__": doc}
        found[short] = _LegacyType(short, (), members)
    return found
