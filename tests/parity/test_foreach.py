"""Functions over lists of tensors: values, gradients and errors in both libraries."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
NAMES = [name for name in dir(torch) if name.startswith("_foreach_")]
CASES = Path(__file__).with_name("foreach_cases.txt").read_text().splitlines()
# PyTorch has none
NO_GRADIENT = [
    "_foreach_powsum",
    "_foreach_copy_",
    "_foreach_maximum_",
    "_foreach_minimum_",
]  # PyTorch has none
SHAPES = [(4,), (2, 3), (), (0, 2), (3, 3)]
# what stands behind the list; L: another list, N: numbers of each tensor, T: a tensor
OTHERS = {
    **{name: ["L", "N", "T", 1.5, "L alpha", "T alpha"] for name in ("add",)},
    "sub": ["L", "N", 1.5, "L alpha"],
    **{name: ["L", "N", "T", 1.5] for name in ("mul", "div")},
    **{name: ["L", "N", 0.5] for name in ("clamp_min", "clamp_max", "maximum", "minimum", "pow")},
    **{name: ["LL", "LL value", "LLN", "LLT"] for name in ("addcmul", "addcdiv")},
    "lerp": ["LL", "LN", "L weight"],
    "norm": ["", 1, 3, 0, 2.5, "f64"],
    "powsum": ["", 1, 3, 0, -1.5, "f64"],
    "copy": ["L"],
    "mm": ["L"],
}


def arrays(seed, names=SHAPES):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.1, 0.9, shape) for shape in names]


def argument(t, kind, dtype, shapes):
    """Positional and keyword arguments behind the list."""
    lists = [[t.tensor(a, dtype=dtype) for a in arrays(9 + i, shapes)] for i in range(2)]
    numbers = [0.25 + i for i in range(len(shapes))]
    words = {
        "": ((), {}),
        "L": (lists[:1], {}),
        "N": ([numbers], {}),
        "T": ([t.tensor(1.75, dtype=dtype)], {}),
        "L alpha": (lists[:1], {"alpha": 2.5}),
        "T alpha": ([t.tensor(1.75, dtype=dtype)], {"alpha": 2.5}),
        "LL": (lists, {}),
        "LL value": (lists, {"value": -0.5}),
        "LLN": ([*lists, numbers], {}),
        "LLT": ([*lists, t.tensor(numbers)], {}),
        "LN": ([lists[0], numbers], {}),
        "L weight": ([lists[0], 0.25], {}),
        "f64": ((), {"ord": 2, "dtype": t.float64}),
    }
    return words[kind] if kind in words else ((kind,), {})


def run(t, name, kind, dtype, grad):
    """The results and, of those in floats, the gradient of a weighted sum."""
    plain = name[len("_foreach_") :].rstrip("_")
    shapes = [(3, 3), (3, 3)] if plain == "mm" else SHAPES[:3] if plain == "max" else SHAPES
    leaves = [t.tensor(a, dtype=getattr(t, dtype)).requires_grad_(grad) for a in arrays(1, shapes)]
    args, kwargs = argument(t, kind, getattr(t, dtype), shapes)
    inputs = [leaf * 1 for leaf in leaves] if name[-1] == "_" else leaves
    results = getattr(t, name)(inputs, *args, **kwargs)
    assert results is inputs if name[-1] == "_" else type(results) is tuple
    gradients = []
    if grad and any(r.requires_grad for r in results):
        sum((r.double() * r.double()).sum() for r in results).backward()
        gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    return [(r.tolist(), str(r.dtype).partition(".")[2]) for r in results], gradients


def same(ours, theirs, limit):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, limit)
    elif isinstance(ours, float):
        assert math.isclose(ours, theirs, rel_tol=limit, abs_tol=limit) or ours != ours and theirs != theirs
    else:
        assert ours == theirs


def test_every_name_is_there():
    assert NAMES == [name for name in dir(rushlight) if name.startswith("_foreach_")] and len(NAMES) > 90


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name):
    for kind in OTHERS.get(name[len("_foreach_") :].rstrip("_"), [""]):
        grad = kind != "LLT" and name not in NO_GRADIENT
        for dtype, limit in (("float64", 1e-12), ("float32", 2e-6), ("bfloat16", 2e-2)):
            args = (name, kind, dtype, grad and dtype == "float64")
            same(run(rushlight, *args), run(torch, *args), limit)


def test_a_number_to_powers_of_a_list():
    for base in (2, 1.5, True):
        same(
            *(
                [r.tolist() for r in t._foreach_pow(base, [t.ones(2), t.arange(3.0)])]
                for t in (rushlight, torch)
            ),
            1e-6,
        )


def answer(t, case):
    scope = {"torch": t, "x": [t.tensor([0.5, -2.0]), t.tensor([1.5, 3.0, 4.0])]}
    try:
        result = repr(eval(case, scope))
    except Exception as error:
        assert not isinstance(error, (SyntaxError, NameError))
        result = f"{type(error).__name__}: {error}"
    return re.sub(r"but expected one of:.*", "", result.replace("rushlight", "torch"), flags=re.S)


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)
