"""What a sample call is made of: placeholders that become tensors of either library.

A placeholder becomes a tensor of the dtype under test, in one of LAYOUTS:

    S(x(2, 3), dim=1)      x: any values   pos: above 0   unit: 0 to 1   nz: no 0   special: the dtype's edges
    fixed(array)           exactly this array, whatever the dtype under test
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
BOOL = ("bool",)
WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
LAYOUTS = ["plain", "strided", "transposed"]
# How results lie in memory follows from these; "mixed" and "turned" give each tensor of a call another one.
MORE_LAYOUTS = ["channels_last", "sliced", "expanded", "mixed", "turned"]
_EACH = {
    "mixed": ("transposed", "plain", "channels_last"),
    "turned": ("plain", "channels_last", "expanded"),
}


# ---- placeholders ----
@dataclass
class Placeholder:
    shape: tuple
    low: float = -4
    high: float = 4
    avoid_zero: bool = False
    values: object = None  # an array that is taken as it is
    follows: bool = True  # the dtype under test
    special: bool = False
    kinks: bool = False  # values where functions have no derivative

    def array(self, dtype, seed):
        """As NumPy has it: bfloat16 as float32 whose low bits are zero."""
        if self.values is not None and not self.follows:
            return np.asarray(self.values)
        rng = np.random.default_rng(seed)
        if self.special:
            a = special_values(dtype, math.prod(self.shape), rng).reshape(self.shape)
        elif self.values is not None:
            a = np.asarray(self.values)
        elif dtype in FLOATS:
            a = rng.uniform(self.low, self.high, self.shape)
        else:
            low = max(self.low, 0) if dtype == "uint8" else self.low
            a = rng.integers(math.ceil(low), max(math.floor(self.high), 1), self.shape, endpoint=True)
        if self.avoid_zero:
            a = np.where(np.abs(a) < 0.25, 1, a)
        return round_to(a, dtype)


def special_values(dtype, n, rng):
    if dtype in FLOATS:
        edges = [
            math.nan,
            math.inf,
            -math.inf,
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            1e-3,
            60.0,
            -60.0,
        ]
    elif dtype == "bool":
        edges = [0, 1]
    else:
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, 2, 7, info.max - 1] + ([-1, -2, -7] if info.min < 0 else [])
    kind = np.float64 if dtype in FLOATS else np.int64
    return np.array((edges * n)[:n], dtype=kind)


def round_to(a, dtype):
    if dtype == "bfloat16":
        return bfloat16(a)
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(dtype)


def bfloat16(a):
    """Rounds to nearest even at 8 bits of mantissa; float32 in and out."""
    a = np.asarray(a, dtype=np.float32)
    bits = a.view(np.uint32).astype(np.int64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(a), a, rounded).astype(np.float32)


def x(*shape, low=-4, high=4):
    return Placeholder(shape, low, high)


def small(*shape):
    """PyTorch rounds halves on the way: little to round."""
    return x(*shape, low=-0.5, high=0.5)


def pos(*shape):
    return Placeholder(shape, 0.5, 4)


def unit(*shape):
    return Placeholder(shape, 0, 1)


def nz(*shape):
    return Placeholder(shape, avoid_zero=True)


def special(*shape):
    return Placeholder(shape, special=True)


def fixed(values):
    return Placeholder((), values=np.asarray(values), follows=False)


def mask(*shape):
    return fixed(np.random.default_rng(math.prod(shape) + 1).random(shape) < 0.5)


def index(*values):
    return fixed(np.array(values, dtype=np.int64))


def number(value):
    return Placeholder((), values=np.asarray(value))


# ---- samples ----
@dataclass
class Sample:
    args: tuple
    kwargs: dict = field(default_factory=dict)
    without: tuple = ()  # dtypes that refuse this very call, as PyTorch's do

    built: ClassVar[int] = 0  # how many calls were made of samples, by all tests: helpers/tried.py

    def but(self, *dtypes):
        self.without = dtypes
        return self

    def mapped(self, function):
        """The same call with other placeholders."""
        args, kwargs = self._fill(lambda p, i: function(p))
        return Sample(args, kwargs, self.without)

    def arrays(self, dtype, seed=0):
        """Arguments with NumPy arrays in the placeholders' places."""
        return self._fill(lambda p, i: p.array(dtype, [seed, i]))

    def build(self, library, dtype, layout="plain", seed=0):
        """Arguments with the library's tensors in the placeholders' places."""

        def tensor(p, i):
            name = dtype if p.follows else None
            own = _EACH[layout][(i - 1) % 3] if layout in _EACH else layout
            return make_tensor(library, p.array(dtype, [seed, i]), name, own)

        return self._fill(tensor)

    def _fill(self, make):
        Sample.built += 1
        count = 0

        def one(value):
            nonlocal count
            if isinstance(value, Placeholder):
                count += 1
                return make(value, count)
            if isinstance(value, list) and any(isinstance(v, Placeholder) for v in value):
                return [one(v) for v in value]
            return value

        return tuple(one(a) for a in self.args), {k: one(v) for k, v in self.kwargs.items()}

    def __str__(self):
        def show(v):
            return f"t{list(v.shape)}" if isinstance(v, Placeholder) else repr(v)

        return ", ".join([show(a) for a in self.args] + [f"{k}={show(v)}" for k, v in self.kwargs.items()])


def S(*args, **kwargs):
    return Sample(args, kwargs)


def make_tensor(library, array, dtype=None, layout="plain"):
    """A tensor with the array's values; `layout` says how they lie in memory."""
    array = np.asarray(array)
    options = {"dtype": getattr(library, dtype)} if dtype else {}
    if layout == "plain" or array.ndim == 0:
        return library.tensor(array, **options)
    step = 2 if layout in ("strided", "sliced") else 1
    order = range(array.ndim) if layout in ("transposed", "sliced") else range(array.ndim - 1, -1, -1)
    if layout == "channels_last" and array.ndim > 2:
        order = (1, *range(array.ndim - 1, 1, -1), 0)
    strides, used = [0] * array.ndim, step
    for d in order:
        strides[d] = used
        used *= max(array.shape[d], 1)
    if layout == "expanded":  # one place for what differs in the first dimension only
        strides[0] = 0
    memory = np.zeros(used + 1, dtype=array.dtype)
    view = np.lib.stride_tricks.as_strided(
        memory[1:], array.shape, [s * memory.itemsize for s in strides], writeable=True
    )
    view[...] = array
    return library.as_strided(library.tensor(memory, **options), array.shape, strides, 1)


def as_array(tensor):
    """Values of a tensor of either library as float64, complex128, int64 or bool, of its shape."""
    name = str(tensor.dtype).removeprefix("torch.")
    kind = {"bool": bool, "complex64": complex, "complex128": complex}.get(name, np.int64)
    kind = np.float64 if name in FLOATS else kind
    return np.array(tensor.tolist(), dtype=kind).reshape(tuple(tensor.shape))


def flat_results(result):
    """The tensors of a result, which may be one or a sequence."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tolerance(dtype):
    """How far a computation in `dtype` may be from exact arithmetic."""
    if dtype not in FLOATS:
        return dict(rtol=2e-6, atol=2e-6)  # integers whose result is float32
    return {
        "float64": dict(rtol=1e-11, atol=1e-11),
        "float32": dict(rtol=2e-5, atol=2e-5),
        "float16": dict(rtol=6e-3, atol=6e-3),
        "bfloat16": dict(rtol=5e-2, atol=5e-2),
    }[dtype]


# ---- what samples of several families have in common ----
def unary(extra=()):
    return [S(special(30)), S(x(2, 3, 4)), S(x(0, 3)), S(x()), *extra]


def but(dtypes, these):
    return [s.but(*dtypes) for s in these]


# without NaN, which PyTorch treats in two ways: one in long runs of elements, another in strided ones
_BORDERS = (-60.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 60.0)


def pairs(*numbers, second=x, **named):
    """(gradient, input, numbers) of every layout, with the places where pieces meet."""
    borders = Placeholder((len(_BORDERS),), values=_BORDERS, kinks=True)
    return [
        S(x(len(_BORDERS)), borders, *numbers, **named),
        *(S(x(*shape), second(*shape), *numbers, **named) for shape in ((2, 3, 4), (0, 3), ())),
    ]
