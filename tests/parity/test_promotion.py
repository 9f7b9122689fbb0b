"""Binary operators on every pair of dtypes, tensors, 0-dim tensors and numbers: PyTorch's dtypes, values and
refusals; in place, and into tensors of other dtypes."""

import itertools
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402
from op_samples import DTYPES, as_array  # noqa: E402

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
ROUGH = {"bfloat16": 1.6e-2, "float16": 2e-3}
FEW = ("int8", "int16", "float16", "float64")  # left out where the results' dtypes vary as well
# PyTorch copies what is to the power of the number 1, whatever it is.
COPIES = {f"bool[{dims}], True" for dims in (0, 1)}
# PyTorch's takes no out= of another dtype than the result's.
EXACT_OUT = {"heaviside", "clamp", "clamp_min", "clamp_max"}


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


def agree(ours, theirs):
    """Or both refuse: that a dtype has no kernel comes before other refusals here."""
    earlier = isinstance(ours, NotImplementedError) and isinstance(theirs, RuntimeError)
    return described(ours) == described(theirs) or earlier


def same_values(ours, theirs, what):
    if not isinstance(theirs, torch.Tensor):
        return ours == theirs
    got, expected = as_array(ours), as_array(theirs)
    limit = max(
        [2e-6, *(limit for dtype, limit in ROUGH.items() if dtype in what or dtype in str(theirs.dtype))]
    )
    return got.shape == expected.shape and np.allclose(got, expected, rtol=limit, atol=limit, equal_nan=True)


def differing(apply, cases):
    """[(what, ours, theirs)] of apply(library, a, b) over (what, what makes a and b in a library)."""
    found = []
    for what, make in cases:
        ours, theirs = (outcome(lambda: apply(library, *make(library))) for library in (rushlight, torch))  # noqa: B023
        if not agree(ours, theirs):
            found.append((what, described(ours), described(theirs)))
        elif not isinstance(theirs, Exception) and not same_values(ours, theirs, what):
            found.append((what, ours, theirs))
    return found


def for_name(name, without=()):
    """The pairs that are for an operator, `without` that of some dtypes."""
    copies = COPIES if name in ("pow", "**") else ()
    for what, make in pairs():
        if what not in copies and not any(f"{dtype}[" in what for dtype in without):
            yield what, make


@pytest.mark.parametrize("name", NAMES)
def test_functions(name):
    assert differing(lambda library, a, b: getattr(library, name)(a, b), for_name(name)) == []


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators(sign):
    apply = eval(f"lambda library, a, b: a {sign} b")
    assert differing(apply, for_name(sign)) == []


@pytest.mark.parametrize("sign", OPERATORS[:-6])
def test_operators_in_place(sign):
    scope = {}
    exec(f"def apply(library, a, b):\n    a {sign}= b\n    return a", scope)
    assert differing(scope["apply"], for_name(sign)) == []


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(torch.Tensor, name + "_")])
def test_in_place(name):
    def apply(library, a, b):
        return getattr(a, name + "_")(b) if isinstance(a, library.Tensor) else None

    assert differing(apply, for_name(name)) == []


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in {"rsub", "isclose", "equal"} | EXACT_OUT]
)
def test_out(name):
    few = [(what, make) for what, make in for_name(name, FEW) if "[0]" not in what]
    for dtype in DTYPES:

        def apply(library, a, b):
            out = library.zeros(3, dtype=getattr(library, dtype))  # noqa: B023
            return getattr(library, name)(a, b, out=out)

        assert differing(apply, few) == [], dtype
