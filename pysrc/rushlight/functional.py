"""Functions of the package that are made of others, and its switches."""

from . import _C, _missing
from ._tensor import _TYPE_NAMES, _need_tensor

__getattr__ = _missing.lacks(__name__)
_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}

# ---- comparing ----


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where is |input - other| <= atol + rtol * |other|?"""
    _need_tensor(input, "isclose", "input", 1)
    _need_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{_TITLE[input.dtype]} did not match {_TITLE[other.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    with_grad = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        close = input == other
        if equal_nan and input.is_floating_point():
            close = close | (_C.isnan(input) & _C.isnan(other))
        if rtol == 0 and atol == 0:
            return close
        right = other if other.is_floating_point() else other.to(_C.get_default_dtype())
        error = (input - right).abs()
        return close | (_C.isfinite(error) & (error <= (right * rtol).abs() + atol))
    finally:
        _C._set_grad_enabled(with_grad)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Is |input - other| <= atol + rtol * |other| everywhere?"""
    _need_tensor(input, "allclose", "input", 1)
    _need_tensor(other, "allclose", "other", 2)
    return isclose(input, other, rtol, atol, equal_nan).all().item()


def equal(input, other):
    """Have both the same shape and the same elements?"""
    _need_tensor(input, "equal", "input", 1)
    _need_tensor(other, "equal", "other", 2)
    if input.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors")
    return _C._nn._equal(input, other).item()


# ---- asking ----


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes (tuples or numbers) have together; RuntimeError if none."""
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size != 1 and result[-i] not in (1, size):
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape. Attempting to broadcast "
                    f"a dimension of length {size} at {-i}! Mismatching argument at index "
                    f"{shapes.index(shape)} had {shape}; but expected shape should be broadcastable to "
                    f"{result}"
                )
            if size != 1:
                result[-i] = size
    return _C.Size(result)


def broadcast_tensors(*tensors):
    """Views of the tensors, stretched to the shape that they have together."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def broadcast_to(input, size):
    """Return input.expand(size)."""
    return input.expand(size)


def numel(input):
    """Return the number of elements."""
    _need_tensor(input, "numel", "input", 1)
    return input.numel()


def is_floating_point(input):
    """Are the elements of a floating dtype?"""
    _need_tensor(input, "is_floating_point", "input", 1)
    return input.is_floating_point()


def is_complex(input):
    """Are the elements complex?"""
    _need_tensor(input, "is_complex", "input", 1)
    return input.is_complex()


def is_nonzero(input):
    """Is the only element not 0?"""
    _need_tensor(input, "is_nonzero", "input", 1)
    return bool(input)


def is_storage(obj):
    """Is it the memory of a tensor?"""
    return isinstance(obj, _C.UntypedStorage)


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


# ---- torch.FloatTensor and its kin ----


class _LegacyType(type):
    def __call__(cls, *args):
        if not args:
            return _C.empty(0, dtype=cls.dtype, device="cpu")
        if len(args) > 1 or isinstance(args[0], (int, _C.Size)):
            return _C.empty(*args, dtype=cls.dtype, device="cpu")
        return _C.tensor(args[0], dtype=cls.dtype, device="cpu")

    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and obj.is_cpu and obj.dtype is cls.dtype


def _legacy_types():
    for dtype, name in _TYPE_NAMES.items():
        short = name.removeprefix("torch.")
        doc = f"Makes {dtype} tensors, and tells by isinstance whether one is."
        members = {"dtype": dtype, "_type_name": name, "__module__": "rushlight", "__doc__": doc}
        yield short, _LegacyType(short, (), members)


# ---- switches ----

_switches = {"deterministic": False, "warn_only": False, "interop": None, "precision": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for results that do not change from run to run; they never do."""
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, "
            f"not {type(mode).__name__}"
        )
    _switches["deterministic"], _switches["warn_only"] = mode, mode and warn_only


def are_deterministic_algorithms_enabled():
    """Return what was asked for."""
    return _switches["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Return what was asked for."""
    return _switches["warn_only"]


def set_num_interop_threads(n):
    """Accepted: operators never run beside each other."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _switches["interop"] = n


def get_num_interop_threads():
    """Return the number that was set."""
    return _switches["interop"] or _C.get_num_threads()


def set_float32_matmul_precision(precision):
    """Accepted: float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"float32_matmul_precision should be one of 'highest', 'high' or 'medium' but got {precision}"
        )
    _switches["precision"] = precision


def get_float32_matmul_precision():
    """Return what was set."""
    return _switches["precision"]


def compile(model=None, **options):
    """Return the model or function as it is; with options alone, a decorator that does so."""
    if model is None:
        return compile
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


class autocast:
    """Accepted as context manager and decorator: operators compute in the dtype of their inputs."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device, self.fast_dtype, self._enabled = device_type, dtype, enabled

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        return False

    def __call__(self, function):
        return function


def is_autocast_enabled(device_type=None):
    """Whether autocast changes dtypes: never."""
    return False


_ALIASES = {
    "absolute": "abs",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
}


def _public_names():
    """Return what the package takes from here and from the C extension under further names."""
    from math import e, inf, nan, pi

    names = {
        "float": _C.float32,
        "double": _C.float64,
        "half": _C.float16,
        "cdouble": _C.complex128,
        "cfloat": _C.complex64,
        "chalf": _C.complex32,
        "long": _C.int64,
        "int": _C.int32,
        "short": _C.int16,
        "e": e,
        "inf": inf,
        "nan": nan,
        "pi": pi,
        "newaxis": None,
    }
    names |= {alias: getattr(_C, name) for alias, name in _ALIASES.items()}
    names |= dict(_legacy_types())
    own = {k: v for k, v in globals().items() if not k.startswith("_") and k != "annotations"}
    return names | own


def _attach_methods():
    for alias, name in _ALIASES.items():
        for suffix in ("", "_"):
            method = getattr(_C.Tensor, name + suffix, None)
            if method is not None:
                setattr(_C.Tensor, alias + suffix, method)
    for function in (isclose, allclose, equal, is_nonzero):
        setattr(_C.Tensor, function.__name__, function)


_attach_methods()
