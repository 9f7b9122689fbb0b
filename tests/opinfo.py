"""Sample calls for every operator row; opinfo_numpy.py has NumPy's answers.

A row's samples stand in SAMPLES under its id; a row without any fails tests/test_ops.py. A placeholder in a
sample becomes a tensor of either library, of the dtype under test and in one of LAYOUTS:

    S(x(2, 3), dim=1)      x: any values   pos: above 0   unit: 0 to 1   nz: no 0   special: the dtype's edges
    fixed(array)           exactly this array, whatever the dtype under test
"""

import math
from dataclasses import dataclass, field

import numpy as np

from rushlight import _C

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
LAYOUTS = ["plain", "strided", "transposed"]
FN, METHOD, NN, INPLACE, ONLY_INPLACE, OUT, NO_GRAD = 1, 2, 4, 8, 16, 32, 256


def admitted(row):
    """Names of the dtypes of a row, by the bits in the order of the dtype enum."""
    return [name for bit, name in enumerate(DTYPES) if row["dtypes"] >> bit & 1]


# Rows that Python can call; the steps of optimisers are tested with them.
ROWS = {row["id"]: row for row in _C._ops_table() if row["flags"] & (FN | METHOD | NN)}


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
    bits = a.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(a), a, rounded).astype(np.float32)


def x(*shape, low=-4, high=4):
    return Placeholder(shape, low, high)


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


# ---- samples ----
@dataclass
class Sample:
    args: tuple
    kwargs: dict = field(default_factory=dict)
    without: tuple = ()  # dtypes that refuse this very call, as PyTorch's do

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
            return make_tensor(library, p.array(dtype, [seed, i]), name, layout)

        return self._fill(tensor)

    def _fill(self, make):
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
    step = 2 if layout == "strided" else 1
    order = range(array.ndim) if layout == "transposed" else range(array.ndim - 1, -1, -1)
    strides, used = [0] * array.ndim, step
    for d in order:
        strides[d] = used
        used *= max(array.shape[d], 1)
    memory = np.zeros(used + 1, dtype=array.dtype)
    view = np.lib.stride_tricks.as_strided(
        memory[1:], array.shape, [s * memory.itemsize for s in strides], writeable=True
    )
    view[...] = array
    return library.as_strided(library.tensor(memory, **options), array.shape, strides, 1)


def as_array(tensor):
    """Values of a tensor of either library as float64 or int64 or bool, of its shape."""
    name = str(tensor.dtype).removeprefix("torch.")
    kind = np.float64 if name in FLOATS else bool if name == "bool" else np.int64
    return np.array(tensor.tolist(), dtype=kind).reshape(tuple(tensor.shape))


def flat_results(result):
    """The tensors of a result, which may be one or a sequence."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


# ---- the samples of each row ----
def _unary(extra=()):
    return [S(special(30)), S(x(2, 3, 4)), S(x(0, 3)), S(x()), *extra]


def _positive():
    return [S(pos(2, 3, 4)), S(special(30)), S(x(0, 3)), S(pos())]


def _binary(second=x, number=2):
    return [
        S(special(30), second(30)),
        S(x(2, 3, 4), second(2, 3, 4)),
        S(x(2, 1, 4), second(3, 1)),
        S(x(3), second()),
        S(x(0, 3), second(3)),
        S(x(), second()),
        *([S(x(2, 3), number)] if number is not None else []),
    ]


def _reduce(**extra):
    return [
        S(x(2, 3, 4), **extra),
        S(x(2, 3, 4), dim=1, **extra),
        S(x(2, 3, 4), dim=-1, keepdim=True, **extra),
        S(x(5), dim=0, **extra),
    ]


def _reduce_dims():
    return [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), 1),
        S(x(2, 3, 4), (0, 2)),
        S(x(2, 3, 4), (-1,), True),
        S(x(70, 65), 0),
        S(x(70, 65), 1),
        S(x()),
    ]


def _total(*empty):
    return [*_reduce_dims(), *[S(x(0, 3), *args) for args in empty]]


def _random(**extra):
    return [S((2, 3), **extra), S((20,), **extra), S((0, 3), **extra), S((), **extra)]


def _but(dtypes, these):
    return [s.but(*dtypes) for s in these]


def _variances():
    return [
        S(x(2, 3, 4)),
        S(x(2, 3, 4), 1),
        S(x(2, 3, 4), (0, 2)),
        S(x(70, 65), 0),
        S(x(70, 65), 1),
        S(x(2, 3, 4), 1, correction=0),
        S(x(2, 3), (0,), correction=1, keepdim=True),
    ]


_BOOL = ("bool",)
_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
_IMAGE = (2, 3, 7, 6)
SAMPLES = {
    "add": _binary() + [S(x(2, 3), x(2, 3), alpha=2), S(x(2, 3), 3, alpha=2)],
    "sub": _but(_BOOL, _binary() + [S(x(2, 3), x(2, 3), alpha=2)]),
    "mul": _binary(),
    "div": _binary(nz)
    + [S(x(2, 3), nz(2, 3), rounding_mode=mode).but("bool") for mode in ("trunc", "floor")]
    + [S(x(2, 3), 2, rounding_mode="floor")],
    "floor_divide": _binary(nz),
    "remainder": _binary(nz),
    "pow": [S(pos(2, 3), 2), S(x(2, 3), 3), S(pos(0, 3), 2)]
    + _but(_BOOL, [S(pos(2, 3), unit(2, 3)), S(pos(3), pos(2, 1)), S(pos(), pos())]),
    "maximum": _binary(number=None) + [S(special(30), special(30))],
    "hypot": _binary(number=None),
    "minimum": _binary(number=None) + [S(special(30), special(30))],
    **{op: _binary() + [S(special(30), special(30))] for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{op: _binary(number=None) for op in ("logical_and", "logical_or", "logical_xor")},
    **{op: _binary(number=None) for op in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "where": [
        S(mask(2, 3), x(2, 3), x(2, 3)),
        S(mask(3), x(2, 1), x(2, 3)),
        S(mask(2, 3), x(2, 3), x()),
        S(mask(0, 3), x(0, 3), x(3)),
    ],
    **{
        op: _unary()
        for op in (
            *("abs", "sign", "square", "exp", "sin", "cos", "erf", "tanh", "sigmoid", "floor", "ceil"),
            *("round", "trunc", "logical_not", "isnan", "isinf", "isfinite"),
        )
    },
    "neg": _but(_BOOL, _unary()),
    "relu": _but(_BOOL, _unary()),
    "bitwise_not": _but(FLOATS, _unary()),
    **{op: _positive() for op in ("log", "sqrt", "rsqrt", "reciprocal")},
    "clamp": [S(special(30), 0, 2), S(x(2, 3), min=1), S(x(2, 3), max=2), S(x(0, 3), 0, 1), S(x(), 0, 1)],
    "gelu": [S(x(2, 3, 4)), S(x(0, 3)), S(x()), S(x(2, 3), approximate="tanh")],
    "silu": _unary(),
    "leaky_relu": _unary([S(x(2, 3), 0.2)]),
    "elu": _unary([S(x(2, 3), 0.5)]),
    "hardtanh": [s.but("uint8") for s in _unary([S(x(2, 3), -2, 3)])] + [S(x(2, 3), 0, 2)],
    "fill_": [S(x(2, 3), 2), S(x(2, 3), fixed(np.int64(3))), S(x(0, 3), 1), S(x(), 1)],
    "copy_": [
        S(x(2, 3), x(2, 3)),
        S(x(2, 3), x(3)),
        S(x(2, 3), fixed(np.arange(6).reshape(2, 3))),
        S(x(0, 3), x(1)),
    ],
    "masked_fill": [S(x(2, 3), mask(2, 3), 1), S(x(2, 3), mask(3), 2), S(x(0, 3), mask(0, 3), 1)],
    "sum": _total((), (0,), (1,)),
    "prod": [S(unit(2, 3, 4)), S(unit(2, 3, 4), 1), S(unit(2, 3, 4), -1, True), S(x(0, 3)), S(x())],
    "mean": _total((1,)),
    "var": _but(_WHOLE, _variances()),
    "var_unbiased": _but(_WHOLE, [S(x(2, 3), True), S(x(2, 3), False)]),
    "std": _but(_WHOLE, _variances()),
    "std_unbiased": _but(_WHOLE, [S(x(2, 3), True), S(x(2, 3), False)]),
    "amax": _total((1,))[:-1] + [S(x(0, 3), 1)],
    "amin": _total((1,))[:-1] + [S(x(0, 3), 1)],
    "max": [S(x(2, 3, 4)), S(special(30)), S(x())],
    "min": [S(x(2, 3, 4)), S(special(30)), S(x())],
    "max_dim": [S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5), 0), S(x(0, 3), 1)],
    "min_dim": [S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5), 0), S(x(0, 3), 1)],
    "max_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    "min_other": [S(x(2, 3), x(2, 3)), S(x(2, 1), x(3))],
    "argmax": [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5))],
    "argmin": [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), -1, True), S(x(5))],
    "any": _total((), (0,)),
    "all": _total((), (0,)),
    "softmax": [S(x(2, 3, 4), 1), S(x(2, 3), -1), S(x(5), 0), S(x(0, 3), 1)],
    "log_softmax": [S(x(2, 3, 4), 1), S(x(2, 3), -1), S(x(5), 0), S(x(0, 3), 1)],
    "matmul": [
        S(x(3, 4), x(4, 5)),
        S(x(4), x(4)),
        S(x(3, 4), x(4)),
        S(x(4), x(4, 5)),
        S(x(2, 3, 4), x(2, 4, 5)),
        S(x(2, 1, 3, 4), x(5, 4, 2)),
        S(x(0, 4), x(4, 5)),
        S(x(3, 0), x(0, 5)),
        S(x(33, 17, low=-1, high=1), x(17, 40, low=-1, high=1)),
    ],
    "linear": [
        S(x(3, 4), x(5, 4), x(5)),
        S(x(3, 4), x(5, 4)),
        S(x(4), x(5, 4), x(5)),
        S(x(2, 3, 4), x(5, 4), x(5)),
        S(x(0, 4), x(5, 4), x(5)),
        S(x(1, 40, low=-1, high=1), x(17, 40, low=-1, high=1), x(17)),
    ],
    "conv2d": [
        S(x(*_IMAGE), x(4, 3, 3, 3), x(4)),
        S(x(*_IMAGE), x(4, 3, 3, 3)),
        S(x(3, 7, 6), x(4, 3, 3, 2), x(4)),
        S(x(*_IMAGE), x(4, 3, 3, 3), x(4), 2, 1),
        S(x(*_IMAGE), x(4, 3, 2, 2), None, (2, 1), (1, 0), (1, 2)),
        S(x(*_IMAGE), x(6, 1, 3, 3), x(6), groups=3, padding=1),
        S(x(*_IMAGE), x(4, 3, 3, 3), padding="same"),
        S(x(1, 1, 12, 12), x(6, 1, 5, 5), x(6)),
        S(x(0, 3, 7, 6), x(4, 3, 3, 3)),
    ],
    "max_pool2d": [
        S(x(*_IMAGE), 2),
        S(x(*_IMAGE), (3, 2), (2, 1), (1, 1)),
        S(x(3, 7, 6), 2, 2),
        S(x(*_IMAGE), 2, 2, 0, 2),
        S(x(*_IMAGE), 2, ceil_mode=True),
        S(x(0, 3, 7, 6), 2),
    ],
    "avg_pool2d": [
        S(x(*_IMAGE), 2),
        S(x(*_IMAGE), (3, 2), (2, 1), (1, 1)),
        S(x(*_IMAGE), 3, 2, 1, True, False),
        S(x(3, 7, 6), 2, 2, divisor_override=3),
    ],
    "adaptive_avg_pool2d": [S(x(*_IMAGE), (3, 2)), S(x(*_IMAGE), (1, 1)), S(x(3, 7, 6), (None, 4))],
    "batch_norm": [
        S(x(*_IMAGE), x(3), x(3), x(3), pos(3), False, 0.1, 1e-5, True),
        S(x(*_IMAGE), x(3), x(3), x(3), pos(3), True, 0.1, 1e-5, True),
        S(x(5, 3), None, None, None, None, True, 0.1, 1e-5, True),
    ],
    "dropout": [S(x(2, 3), 0.5, False), S(x(20), 0.5, True), S(x(20), 0.0, True), S(x(20), 1.0, True)],
    "upsample_bilinear2d": [
        S(x(*_IMAGE), (14, 12), False),
        S(x(*_IMAGE), (5, 9), True),
        S(x(*_IMAGE), (10, 9), False, 1.5, 1.5),
        S(x(*_IMAGE), (1, 1), True),
    ],
    "upsample_nearest2d": [S(x(*_IMAGE), (14, 12)), S(x(*_IMAGE), (5, 4)), S(x(*_IMAGE), (10, 9), 1.5, 1.5)],
    "pad": [
        S(x(2, 3), (1, 2)),
        S(x(2, 3), (1, 0, 0, 2), "constant", 1.0),
        S(x(2, 5), (-1, -2)),
        S(x(*_IMAGE), (1, 2, 3, 1), "reflect"),
        S(x(*_IMAGE), (1, 2, 3, 1), "replicate"),
        S(x(*_IMAGE), (1, 2, 3, 1), "circular"),
    ],
    "view": [
        S(x(2, 3, 4), (6, 4)),
        S(x(2, 3, 4), (-1,)),
        S(x(2, 3, 4), (2, -1)),
        S(x(0, 3), (3, 0)),
        S(x(), (1, 1)),
    ],
    "permute": [S(x(2, 3, 4), (2, 0, 1)), S(x(2, 3, 4), (-1, 0, 1)), S(x(), ())],
    "transpose": [S(x(2, 3, 4), 0, 2), S(x(2, 3, 4), -1, 1), S(x(0, 3), 0, 1)],
    "t": [S(x(2, 3)), S(x(3)), S(x())],
    "squeeze": [S(x(2, 1, 3, 1)), S(x(1)), S(x())],
    "squeeze_dim": [S(x(2, 1, 3, 1), 1), S(x(2, 3), 0)],
    "squeeze_dims": [S(x(2, 1, 3, 1), (1, -1)), S(x(2, 3), (0,))],
    "unsqueeze": [S(x(2, 3), 0), S(x(2, 3), -1), S(x(), 0)],
    "expand": [S(x(2, 1), (2, 3)), S(x(3), (2, 3)), S(x(2, 1), (-1, 4)), S(x(), (2,))],
    "select": [S(x(2, 3, 4), 1, 2), S(x(2, 3), 0, -1)],
    "narrow": [S(x(5, 3), 0, 1, 3), S(x(5, 3), 1, 0, 0), S(x(5, 3), -1, -2, 1)],
    "slice": [S(x(5, 3), 0, 1, 4), S(x(5, 3), 0, None, None, 2), S(x(5, 3), 1, -2), S(x(5, 3), 0, 4, 1)],
    "as_strided": [S(x(12), (3, 2), (4, 1)), S(x(12), (3, 3), (1, 2), 1), S(x(12), (2,), (0,))],
    "to_copy": [S(x(2, 3, 4)), S(x(0, 3)), S(x())],
    "as_strided_scatter": [
        S(x(3, 2), (12,), (3, 2), (4, 1), 1),
        S(x(2, 3), (3, 3), (2, 3), (1, 1), 2),
        S(x(0, 3), (2, 2), (0, 3), (1, 1), 0),
        S(x(), (2,), (), (), 1),
    ],
    "reshape": [S(x(2, 3, 4), (6, 4)), S(x(2, 3, 4), (-1,)), S(x(0, 3), (3, 0))],
    "flatten": [S(x(2, 3, 4)), S(x(2, 3, 4), 1), S(x(2, 3, 4), 0, 1), S(x())],
    "contiguous": [S(x(2, 3)), S(x())],
    "chunk": [S(x(7, 3), 3), S(x(6, 3), 2, 1), S(x(2, 3), 5)],
    "split": [S(x(7, 3), 3), S(x(7, 3), (2, 5)), S(x(2, 6), 4, 1)],
    "unbind": [S(x(3, 2)), S(x(2, 3), 1)],
    "clone": [S(x(2, 3)), S(x()), S(x(0, 3))],
    "cat": [S([x(2, 3), x(4, 3)]), S([x(2, 3), x(2, 1)], 1), S([x(2, 3)]), S([x(0, 3), x(2, 3)])],
    "stack": [S([x(2, 3), x(2, 3)]), S([x(2, 3), x(2, 3)], 1), S([x(), x()], -1)],
    "index_select": [S(x(4, 3), 0, index(2, 0, 2)), S(x(4, 3), 1, index(1)), S(x(4, 3), 0, index())],
    "equal": [S(x(2, 3), x(2, 3)), S(fixed(np.arange(3.0)), fixed(np.arange(3.0))), S(x(2, 3), x(3, 2))],
    "empty": [S((2, 3)), S((0, 3)), S(())],
    "zeros": [S((2, 3)), S((0, 3)), S(())],
    "ones": [S((2, 3)), S((0, 3)), S(())],
    "full": [S((2, 3), 2), S((2, 3), 1.0), S((0, 3), 1), S((), True)],
    "empty_like": [S(x(2, 3))],
    "zeros_like": [S(x(2, 3)), S(x())],
    "ones_like": [S(x(2, 3)), S(x(0, 3))],
    "full_like": [S(x(2, 3), 2)],
    "arange": [S(5), S(0), S(2.5)],
    "arange_start": [S(1, 7), S(1, 7, 2), S(7, 1, -2), S(0.5, 2, 0.5).but("int64")],
    "linspace": [S(0, 1, 5), S(3, -3, 7), S(0, 1, 1), S(0, 1, 0)],
    "eye": [S(3), S(2, 4), S(0)],
    "rand": _random(),
    "randn": _random(),
    "rand_like": [S(x(2, 3)), S(x(20))],
    "randn_like": [S(x(2, 3)), S(x(20))],
    "randint": [S(10, (2, 3)).but("bool"), S(100, (20,)).but("bool"), S(2, (20,))],
    "randint_low": [S(-5, 10, (2, 3)).but("bool", "uint8"), S(3, 9, (20,)).but("bool"), S(0, 2, (3,))],
    "randperm": [S(10), S(1), S(0)],
    "uniform_": [S(x(2, 3)), S(x(20), -1.0, 2.0)],
    "normal_": [S(x(2, 3)), S(x(20), 1.0, 2.0)],
    "bernoulli_": [S(x(2, 3)), S(x(20), 0.25)],
    "random_": [S(x(2, 3)), S(x(20))],
    "random_to_": [S(x(2, 3), 10).but("bool"), S(x(20), 100).but("bool"), S(x(3), 2)],
    "random_from_": [S(x(2, 3), 0, 10).but("bool"), S(x(20), 1, 100).but("bool"), S(x(3), 0, None)],
}
FACTORIES = {
    *("empty", "zeros", "ones", "full", "arange", "arange_start", "linspace", "eye", "rand", "randn"),
    *("randint", "randint_low", "randperm"),
}
UNINITIALISED = {"empty", "empty_like"}
RANDOM = {
    *("rand", "randn", "rand_like", "randn_like", "randint", "randint_low", "randperm", "dropout"),
    *("uniform_", "normal_", "bernoulli_", "random_", "random_to_", "random_from_"),
}


def samples(name):
    """The sample calls of a row, by its id."""
    return SAMPLES[name]


def function(library, row):
    """What a user calls for a row, in either library."""
    own = hasattr(library, "_ops_table")
    name, flags = row["name"], row["flags"]
    if not own and row["id"] in _THEIRS:
        return _THEIRS[row["id"]](library)
    if flags & FN and hasattr(library, name):
        return getattr(library, name)
    if flags & NN:
        return getattr(library._nn if own else library._C._nn, name)
    return getattr(library.Tensor, name)


def scattered(torch, a, whole, size, stride, offset):
    """The gradient of as_strided(), which is linear."""
    numel = math.prod(whole)
    where = torch.arange(numel).as_strided(size, stride, offset)
    flat = torch.zeros(numel, dtype=a.dtype).index_put((where.reshape(-1),), a.reshape(-1), accumulate=True)
    return flat.reshape(whole)


_THEIRS = {  # PyTorch keeps these elsewhere
    "slice": lambda torch: torch.ops.aten.slice.Tensor,
    "to_copy": lambda torch: torch.ops.aten._to_copy,
    "as_strided_scatter": lambda torch: (
        lambda a, whole, size, stride, offset: scattered(torch, a, whole, size, stride, offset)
    ),
    "equal": lambda torch: lambda a, b: torch.tensor(torch.equal(a, b)),
    "max_pool2d": lambda torch: torch.nn.functional.max_pool2d,
    "avg_pool2d": lambda torch: torch._C._nn.avg_pool2d,
    "adaptive_avg_pool2d": lambda torch: torch.nn.functional.adaptive_avg_pool2d,
}


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


import opinfo_backward  # noqa: E402  their samples are made of what stands above
import opinfo_backward_act  # noqa: E402
import opinfo_index  # noqa: E402
import opinfo_layers  # noqa: E402

opinfo_index.join(SAMPLES, _THEIRS)
opinfo_layers.join(SAMPLES, RANDOM, _THEIRS)
opinfo_backward.join(SAMPLES, _THEIRS)
opinfo_backward_act.join(SAMPLES, _THEIRS)
