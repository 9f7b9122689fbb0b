"""Binary operators on every pair of dtypes, as tensors, 0-dim tensors and numbers: the dtype that PyTorch answers
with, its values and its refusals; in place, and into tensors of other dtypes."""

import itertools
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402
from samples import DTYPES, as_array  # noqa: E402

NAMES = (
    *(
        "add",
        "sub",
        "rsub",
        "mul",
        "div",
        "true_divide",
        "floor_divide",
        "remainder",
        "fmod",
        "pow",
        "float_power",
    ),
    *("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "nextafter", "heaviside", "xlogy"),
    *("logaddexp", "logaddexp2", "gcd", "lcm", "eq", "ne", "lt", "le", "gt", "ge"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("bitwise_left_shift", "bitwise_right_shift", "clamp_min", "clamp_max", "clamp", "isclose", "equal"),
)
OPERATORS = "+ - * / // % ** & | ^ << >> < <= > >= == !=".split()
NUMBERS = (2, 2.5, True)
LEFT, RIGHT = (3, 1, 2), (2, 1, 3)
ROUGH = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6}


def left(library, dtype, dims):
    return library.tensor(LEFT if dims else LEFT[0], dtype=getattr(library, dtype))


def right(library, dtype, dims):
    return library.tensor(RIGHT if dims else RIGHT[0], dtype=getattr(library, dtype))


def pairs():
    """(what, makes the two operands in a library)."""
    for (a, b), (m, n) in itertools.product(
        itertools.product(DTYPES, DTYPES), ((1, 1), (1, 0), (0, 1), (0, 0))
    ):
        yield (
            f"{a}[{m}], {b}[{n}]",
            lambda library, a=a, b=b, m=m, n=n: (left(library, a, m), right(library, b, n)),
        )
    for a, number, m in itertools.product(DTYPES, NUMBERS, (1, 0)):
        yield f"{a}[{m}], {number}", lambda library, a=a, m=m, number=number: (left(library, a, m), number)
        yield f"{number}, {a}[{m}]", lambda library, a=a, m=m, number=number: (number, right(library, a, m))


def outcome(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return error


def described(result):
    """The first line of a refusal; of overloads that do not fit PyTorch says more than rushlight."""
    if isinstance(result, Exception):
        return type(result).__name__, str(result).partition("\n")[0]
    return str(getattr(result, "dtype", type(result)))


def same_values(ours, theirs):
    if not isinstance(theirs, torch.Tensor):
        return ours == theirs
    got, expected = as_array(ours), as_array(theirs)
    limit = ROUGH.get(str(theirs.dtype).removeprefix("torch."), 1e-12)
    return got.shape == expected.shape and np.allclose(got, expected, rtol=limit, atol=limit, equal_nan=True)


def differing(cases):
    """[(what, ours, theirs)] of (what, makes the call in a library)."""
    found = []
    for what, call in cases:
        ours, theirs = (outcome(lambda: call(library)) for library in (rushlight, torch))  # noqa: B023
        if described(ours) != described(theirs):
            found.append((what, described(ours), described(theirs)))
        elif not isinstance(theirs, Exception) and not same_values(ours, theirs):
            found.append((what, ours, theirs))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_functions(name):
    assert (
        differing(
            (what, lambda library, make=make: getattr(library, name)(*make(library)))
            for what, make in pairs()
        )
        == []
    )


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators(sign):
    apply = eval(f"lambda a, b: a {sign} b")
    assert differing((what, lambda library, make=make: apply(*make(library))) for what, make in pairs()) == []


def in_place(library, method, make):
    a, b = make(library)
    result = getattr(a, method)(b)
    assert result is a
    return a


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(torch.Tensor, name + "_")])
def test_in_place(name):
    cases = [(what, make) for what, make in pairs() if "[" in what.partition(",")[0]]
    assert (
        differing(
            (what, lambda library, make=make: in_place(library, name + "_", make)) for what, make in cases
        )
        == []
    )


@pytest.mark.parametrize("sign", OPERATORS[:-6])
def test_operators_in_place(sign):
    scope = {}
    exec(f"def apply(a, b):\n    a {sign}= b\n    return a", scope)
    assert (
        differing((what, lambda library, make=make: scope["apply"](*make(library))) for what, make in pairs())
        == []
    )


def into(library, name, make, dtype):
    out = library.zeros(3, dtype=getattr(library, dtype))
    assert getattr(library, name)(*make(library), out=out) is out
    return out


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("rsub", "isclose", "equal")])
def test_out(name):
    few = [(what, make) for what, make in pairs() if "[0]" not in what]
    few = [
        (what, make)
        for what, make in few
        if not {"int8", "int16", "float16", "float64"} & set(what.replace("[1]", "").split(", "))
    ]
    cases = [(f"{what} out {dtype}", make, dtype) for (what, make), dtype in itertools.product(few, DTYPES)]
    assert (
        differing(
            (what, lambda library, make=make, dtype=dtype: into(library, name, make, dtype))
            for what, make, dtype in cases
        )
        == []
    )
