"""NumPy beside tensors: scalars, arrays and ufuncs in operators; which numbers keep their dtype."""

import copy
import decimal
import fractions
import operator
import warnings

import numpy as np
import pytest

import rushlight as torch
from helpers.process import python
from rushlight import nn

OPERATORS = {name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow".split()}
COMPARISONS = {name: getattr(operator, name) for name in "eq ne lt le gt ge".split()}
INPLACE = {f"i{name}": getattr(operator, f"i{name}") for name in OPERATORS}
NO_COPY = {"copy": False} if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else {}  # what asarray() takes
REALS = [np.float64(2), np.float32(2), np.float16(2)]
INTEGERS = [np.int64(2), np.int32(2), np.uint8(2)]
ARRAYS = [
    np.array([1.0, 5.0, 3.0]),
    np.float32([1, 5, 3]),
    np.array([1, 5, 3]),
    np.array(2.0),
    np.ones((2, 3)),
]


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # of division by 0
        warnings.filterwarnings("ignore", message="Creating a tensor from a list of numpy.ndarrays")
        yield


def tensors():
    return [
        torch.tensor([1.0, 2.0, 3.0]),
        torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16),
        torch.tensor([1, 2, 3]),
        nn.Parameter(torch.tensor([1.0, 2.0, 3.0])),
    ]


def same(one, other):
    assert type(one) is type(other) is torch.Tensor and one.dtype == other.dtype
    assert one.requires_grad == other.requires_grad and one.tolist() == other.tolist()


# ---- scalars: as Python's numbers ----
@pytest.mark.parametrize("name", {**OPERATORS, **COMPARISONS})
def test_scalars_count_as_numbers(name):
    f = {**OPERATORS, **COMPARISONS}[name]
    for x in tensors():
        for number in REALS + INTEGERS:
            plain = float(number) if isinstance(number, np.floating) else int(number)
            same(f(x, number), f(x, plain))
            same(f(number, x), f(plain, x))


@pytest.mark.parametrize("name", INPLACE)
def test_scalars_in_place(name):
    f = INPLACE[name]
    for number in REALS + INTEGERS:
        x = torch.tensor([1.0, 2.0, 3.0])
        y, twin = x.clone(), x
        x = f(x, number)
        assert x is twin
        same(x, f(y, float(number)))


def test_root_of_a_number_times_a_weight():
    w = nn.Parameter(torch.ones(2))
    product = np.sqrt(2.0) * w
    assert product.requires_grad and product.dtype == torch.float32
    product.sum().backward()
    assert w.grad.tolist() == [np.float32(np.sqrt(2.0))] * 2


@pytest.mark.parametrize("name", ["add", "mul", "eq", "pow"])
def test_complex_numbers_are_never_cut_short(name):
    f, x = {**OPERATORS, **COMPARISONS}[name], torch.ones(2)
    for number in (1j, np.complex64(1 + 1j), np.complex128(1 + 1j)):
        for pair in ((x, number), (number, x)):
            with pytest.raises(NotImplementedError, match="not implemented for 'Complex"):
                f(*pair)
    with pytest.raises(TypeError):
        torch.full((2,), np.complex64(1j))


@pytest.mark.parametrize(
    "value", [decimal.Decimal(2), fractions.Fraction(2), np.timedelta64(1, "s"), "2", None]
)
def test_strangers_stay_strangers(value):
    x = torch.ones(2)
    assert (x == value) is False and (x != value) is True
    if not isinstance(value, np.generic):
        for pair in ((x, value), (value, x)):
            with pytest.raises(TypeError, match="unsupported operand type"):
                operator.sub(*pair)
    with pytest.raises(TypeError):
        torch.full((2,), value)


# ---- arrays: behind a tensor NumPy computes, in front of it they are refused; but for == and / ----
@pytest.mark.parametrize("name", OPERATORS)
def test_arrays_in_operators(name):
    f = OPERATORS[name]
    for x in tensors()[:3]:
        for a in ARRAYS:
            same(f(x, a), torch.from_numpy(np.asarray(f(x.numpy(), a))))
            if name == "truediv":
                same(f(a, x), torch.from_numpy(x.reciprocal().numpy() * a))
                continue
            with pytest.raises(TypeError, match="unsupported operand type|Concatenation operation is not"):
                f(a, x)


@pytest.mark.parametrize("name", COMPARISONS)
def test_arrays_in_comparisons(name):
    f = COMPARISONS[name]
    for x in tensors():
        for a in ARRAYS:
            if name == "eq":
                same(f(x, a), torch.from_numpy(np.asarray(x.detach().numpy() == a)))
                same(f(a, x), f(x, a))
            elif name == "ne":
                assert f(x, a) is f(a, x) is True
            else:
                for pair in ((x, a), (a, x)):
                    with pytest.raises(TypeError, match="not supported between instances of"):
                        f(*pair)


def test_comparing_with_arrays_that_no_tensor_can_hold():
    x = torch.ones(3)
    assert (x == np.array(["a", "b", "c"])) is False
    assert (x == np.array([None] * 3)) is False
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x == np.ones(2)  # noqa: B015
    with pytest.raises(ValueError, match="negative"):
        x == np.ones(3)[::-1]  # noqa: B015


@pytest.mark.parametrize("name", INPLACE)
def test_arrays_in_place(name):
    f, plain = INPLACE[name], OPERATORS[name[1:]]
    for a in ARRAYS:
        x = kept = torch.tensor([1.0, 2.0, 3.0])
        wanted = plain(x, a)
        x = f(x, a)
        same(x, wanted)
        assert kept.tolist() == [1.0, 2.0, 3.0]
        if name == "itruediv":
            same(f(copy.copy(a), kept), plain(a, kept))
            continue
        with pytest.raises(TypeError):
            f(copy.copy(a), kept)


def test_weights_are_not_lent_unseen():
    w = nn.Parameter(torch.ones(3))
    for f in (lambda: w + np.ones(3), lambda: np.ones(3) / w, lambda: np.exp(w)):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
            f()


# ---- ufuncs ----
def test_ufuncs_answer_with_tensors():
    x, a = torch.tensor([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    same(np.exp(x), torch.from_numpy(np.exp(x.numpy())))
    same(np.add(x, 1), x + 1)
    same(np.maximum(x, x), x)
    same(np.maximum(x, a), torch.from_numpy(np.maximum(x.numpy(), a)))
    same(np.multiply(a, x), torch.from_numpy(a * x.numpy()))
    same(np.isnan(x), torch.zeros(3, dtype=torch.uint8))
    same(np.exp(torch.tensor(0.0)), torch.tensor(1.0))
    same(np.add.reduce(x), torch.tensor(6.0))
    parts = np.modf(x)
    same(parts[0], torch.zeros(3)), same(parts[1], x)
    out = np.zeros(3)
    assert np.add(x, 1, out=out) is out and out.tolist() == [2, 3, 4]


def test_wrapping():
    x = torch.ones(2)
    assert x.__array_priority__ == torch.Tensor.__array_priority__ == 1000
    a = np.array([1.0, 2.0])
    wrapped = x.__array_wrap__(a, None, False)
    a[0] = 7
    assert wrapped.tolist() == [7, 2]
    same(x.__array_wrap__(np.array([True, False])), torch.tensor([1, 0], dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy.str_\. The only supported"):
        x.__array_wrap__(np.array(["a"]))
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got Tensor\)"):
        x.__array_wrap__(x)


def test_arrays_of_tensors_share_memory_where_they_can():
    x = torch.ones(3)
    base = x.numpy()
    for shared in (np.asarray(x), np.asarray(x, dtype=np.float32), np.asarray(x, **NO_COPY)):
        assert np.shares_memory(shared, base)
    for copied in (np.array(x), np.array(x, dtype=np.float32), np.asarray(x, dtype=np.float64)):
        assert not np.shares_memory(copied, base)
    assert x.__array__("int8").dtype == np.int8
    with pytest.raises(ValueError, match="Unable to avoid copy while creating an array as requested"):
        np.asarray(x, dtype=np.float64, copy=False) if NO_COPY else x.__array__(np.float64, copy=False)


# ---- tensors of NumPy's numbers keep their dtype, and with it their digits ----
@pytest.mark.parametrize(
    "name",
    "float64 float32 float16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 complex64 complex128".split(),
)
def test_numbers_keep_their_dtype(name):
    number, dtype = getattr(np, name)(3), getattr(torch, name)
    for data in (
        number,
        [number],
        ((number,), (number,)),
        [np.array([number])],
        [np.array(number)] * 0 or number,
    ):
        made = torch.tensor(data)
        assert made.dtype == dtype and set(np.ravel(made.tolist())) == {3}
        assert torch.as_tensor(data).dtype == dtype


def test_digits_are_kept():
    tenth = np.float64(0.1)
    assert torch.tensor(tenth).item() == torch.tensor([tenth])[0].item() == 0.1
    assert torch.tensor([np.array([0.1, 0.2])]).tolist() == [[0.1, 0.2]]
    assert torch.tensor(np.complex64(1j)).item() == 1j
    assert torch.tensor(np.bool_(True)).dtype == torch.bool
    assert torch.tensor([1, np.float64(0.1)]).tolist() == [1, 0.1]
    assert torch.tensor([0.1]).dtype == torch.tensor(0.1).dtype == torch.float32
    assert torch.tensor(tenth, dtype=torch.float32).dtype == torch.float32


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1.5, np.float16(1)], torch.float32),
        ([np.int8(1), np.uint8(2)], torch.int16),
        ([True, np.int32(1)], torch.int32),
        ([np.uint16(1), 1.5], torch.float32),
        ([1, np.complex64(1)], torch.complex64),
        ([np.float64(1), np.complex64(1)], torch.complex128),
        ([1.5, 1j], torch.complex64),
        ([torch.tensor(1), np.float64(1)], torch.float64),
    ],
)
def test_numbers_side_by_side(data, dtype):
    assert torch.tensor(data).dtype == dtype


def test_numbers_that_no_dtype_holds():
    text = "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Long and UInt16"
    with pytest.raises(RuntimeError, match=text):
        torch.tensor([1, np.uint16(1)])
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.clongdouble"):
        torch.tensor(np.clongdouble(1))
    with pytest.raises(RuntimeError, match="Could not infer dtype of decimal.Decimal"):
        torch.tensor(decimal.Decimal(1))


def test_operators_do_not_import_numpy():
    code = """
import sys, decimal, rushlight as torch
x = torch.ones(2)
x + 1, 2.0 * x, x == None, x == "a", x == decimal.Decimal(1), torch.tensor([1, 2.0]), x.__array_priority__
try:
    x * 1j
except NotImplementedError:
    print("numpy" in sys.modules)
"""
    assert python(code) == "False\n"
