"""Products and distances: the expressions of product_cases.txt, one a line, in both libraries."""

import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
CASES = Path(__file__).with_name("product_cases.txt").read_text().split("\n")[:-1]


def environment(t):
    v = t.arange(6.0)
    return {
        "torch": t,
        "x": t.arange(24.0).view(2, 3, 4),
        "m": t.arange(9.0).view(3, 3),
        "v": v,
        "w": t.arange(1.0, 7.0).requires_grad_(),
        "i": t.arange(6),
        "s": t.tensor(3.0),
        "bl": v > 2,
        "inf": float("inf"),
        "nan": float("nan"),
    }


def shown(result):
    """Values, dtype, strides, and the name of the node."""
    if not hasattr(result, "grad_fn"):
        return str(result)
    node = result.grad_fn and type(result.grad_fn).__name__
    return f"{result} {result.dtype} {result.stride()} {node}".replace("rushlight", "torch")


def answer(t, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(eval(case, environment(t)))
        except (SyntaxError, NameError):  # the case itself is broken
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace("rushlight", "torch")


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)
