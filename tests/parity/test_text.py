"""Texts of types and constants, switches, devices that are not there, and torch.testing: beside PyTorch.

Each line of text_cases.txt is an expression; what it answers, says and raises must be equal.
"""

import re
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")

CASES = Path(__file__).with_name("text_cases.txt").read_text().splitlines()


def environment(t):
    v = t.arange(6.0)
    return {
        "torch": t,
        "x": t.arange(24.0).view(2, 3, 4),
        "m": t.arange(9.0).view(3, 3),
        "s": t.tensor(3.0),
        "i": t.arange(6),
        "v": v,
        "w": t.arange(1.0, 7.0).requires_grad_(),
        "bl": v > 2,
        "nan": float("nan"),
        "inf": float("inf"),
    }


def show(result):
    if type(result) in (tuple, list):
        return [show(each) for each in result]
    if type(result).__name__ in ("Tensor", "Parameter"):
        return f"{result!r} {result.dtype} {result.stride()}"
    return result if isinstance(result, str) else repr(result)


def answer(t, case):
    t.manual_seed(5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = str(show(eval(case, environment(t))))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        finally:
            t.use_deterministic_algorithms(False)
            t.set_flush_denormal(False)
            t.set_printoptions(profile="default")
    texts = [result, *(f"{w.category.__name__}: {w.message}" for w in said)]
    return [re.sub(" at 0x[0-9a-f]+", "", text).replace("rushlight", "torch") for text in texts]


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)
