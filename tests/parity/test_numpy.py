"""Operators and ufuncs on NumPy's scalars and arrays beside tensors: type, dtype, values, errors."""

import itertools
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

TENSORS = {
    "float32": lambda t: t.tensor([1.0, 2.0, 3.0]),
    "float16": lambda t: t.tensor([1.0, 2.0, 3.0], dtype=t.float16),
    "int64": lambda t: t.tensor([1, 2, 3]),
    "bool": lambda t: t.tensor([True, False, True]),
    "0-d": lambda t: t.tensor(2.0),
    "parameter": lambda t: t.nn.Parameter(t.tensor([1.0, 2.0, 3.0])),
}
OTHERS = {
    **{name: getattr(np, name)(2) for name in ("float64", "float32", "float16", "int64", "int32", "uint8")},
    "true": np.bool_(True),
    "0-d": np.array(2.0),
    "0-d int": np.array(2),
    "doubles": np.array([1.0, 5.0, 3.0]),
    "floats": np.float32([1, 5, 3]),
    "ints": np.array([1, 5, 3]),
    "truths": np.array([True, True, False]),
    "matrix": np.ones((2, 3)),
    "misfit": np.ones(2),
    "texts": np.array(["a", "b", "c"]),
    "backwards": np.ones(3)[::-1],
}
OPERATORS = "+ - * / // % ** @ == != < > <= >= & | ^".split()
IN_PLACE = "+= -= *= /= //= %= **=".split()
CALLS = """
np.exp(x)
np.add(x, 1)
np.maximum(x, x)
np.maximum(x, np.float64(2))
np.add(np.float32([1, 5, 3]), x)
np.multiply(np.float64(2), x)
np.equal(x, x)
np.isnan(x)
np.modf(x)
np.divmod(x, 2)
divmod(x, np.array([1.0, 5.0, 3.0]))
np.add.reduce(x)
np.add.accumulate(x)
np.add(x, 1, out=np.zeros(3))
np.concatenate([x, x])
np.asarray(x)
np.array(x, dtype=np.float64)
np.where(x > 1, x, 0)
np.round(x)
np.clip(x, 0, 1) if not x.requires_grad else None
np.dot(x, np.ones(3))
np.linalg.norm(x)
sum([np.float64(3), x.max()])
max(np.float64(3), x.max())
x.__array_wrap__(np.array([True]))
x.__array_wrap__(np.array(["a"]))
x.__array_priority__
np.shares_memory(np.asarray(x, dtype=np.asarray(x).dtype), np.asarray(x))
""".split("\n")[1:-1]
NUMBERS = [
    f"np.{name}(1)" for name in "float64 float32 float16 int64 int32 int8 uint8 bool_ complex64".split()
]
DATA = ["{0}", "[{0}]", "[[{0}], [{0}]]", "[{0}, 1.5]", "[1, {0}]", "[True, {0}]", "[{0}, np.float32(2)]"]


def show(t, value):
    if isinstance(value, tuple):
        return [show(t, each) for each in value]
    if isinstance(value, t.Tensor):
        values = value.detach().float() if value.dtype is t.float16 else value.detach()
        return "tensor", str(value.dtype), tuple(value.shape), value.requires_grad, str(values.tolist())
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, str(value.tolist())
    return type(value).__name__, repr(value)


def answer(t, code, make, other):
    """What an expression answers, or what x and o are after a statement."""
    scope = {"x": make(t), "o": np.copy(other) if isinstance(other, np.ndarray) else other, "np": np, "t": t}
    before = scope["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's __array_wrap__ is of an older kind
        try:
            if code[2:].split()[0] in IN_PLACE:
                exec(code, scope)
                return show(t, scope["x"]), scope["x"] is before, show(t, scope["o"])
            return show(t, eval(code, scope))
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0].replace("rushlight", "torch")


def check(code, make=TENSORS["float32"], other=None):
    assert answer(rushlight, code, make, other) == answer(torch, code, make, other), code


@pytest.mark.parametrize(("tensor", "other"), list(itertools.product(TENSORS, OTHERS)))
def test_operators(tensor, other):
    for operator in OPERATORS + IN_PLACE:
        check(f"x {operator} o", TENSORS[tensor], OTHERS[other])
        check(f"o {operator} x", TENSORS[tensor], OTHERS[other])


@pytest.mark.parametrize("call", CALLS)
def test_functions(call):
    for tensor in ("float32", "int64", "parameter"):
        check(call, TENSORS[tensor])


@pytest.mark.parametrize(("number", "data"), list(itertools.product(NUMBERS, DATA)))
def test_tensors_of_numbers(number, data):
    for function in ("t.tensor", "t.as_tensor", "x.new_tensor"):
        check(f"{function}({data.format(number)})")
