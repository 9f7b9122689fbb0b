"""Printed tensors: random tensors under random print options give PyTorch's text, character for character."""

import random
from math import inf, nan, prod

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

REALS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
COMPLEX = ["complex64", "complex128", "complex32"]
KINDS = {
    "whole": lambda r: float(r.randint(-20, 20)),
    "gauss": lambda r: r.gauss(0, 1),
    "scales": lambda r: r.gauss(0, 1) * 10.0 ** r.randint(-12, 12),
    "nonfinite": lambda r: r.choice([nan, inf, -inf]),
    "zeros": lambda r: r.choice([0.0, -0.0]),
    "large": lambda r: float(r.randint(-(10**9), 10**9)),
    "limits": lambda r: r.choice([0.5, 1e-4, 9.9999e-5, 1000.0, 99999.5, 1e8, 1.00001e8]),
}


SUBCLASSES = {t: type("Sub", (t.Tensor,), {}) for t in (torch, rushlight)}


def shape_of(r):
    if r.random() < 0.35:
        return r.choice([(), (0,), (1,), (2,), (9,), (60,), (1001,), (1100,), (0, 3), (2, 0), (1, 0, 2)])
    return tuple(r.choice([1, 1, 2, 3, 5, 7, 8, 12, 40]) for _ in range(r.choice([1, 2, 2, 3])))


def array(r, dtype):
    shape = shape_of(r)
    kinds = r.sample(sorted(KINDS), r.randint(1, 2))
    numbers = [KINDS[r.choice(kinds)](r) for _ in range(prod(shape))]
    if dtype in COMPLEX:
        pairs = [complex(a, b) for a, b in zip(numbers, reversed(numbers))]
        return np.array(pairs, "complex64" if dtype == "complex64" else "complex128").reshape(shape)
    if dtype == "bool":
        return np.array([n > 0 for n in numbers], bool).reshape(shape)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        whole = [int(n) if abs(n) < 1e18 else r.choice([0, -(2**63), 2**64 - 1]) for n in numbers]
        return np.array([max(limits.min, min(limits.max, n)) for n in whole], dtype).reshape(shape)
    return np.array(numbers, "float64").reshape(shape)


def options_of(r):
    choices = {
        "precision": [0, 1, 2, 4, 8, 12],
        "threshold": [0, 1, 5, 20, 1000, inf],
        "edgeitems": [0, 1, 2, 3, 5],
        "linewidth": [1, 20, 40, 80, 120, 200],
        "profile": ["default", "short", "full", "none such"],
    }
    options = {name: r.choice(few) for name, few in choices.items() if r.random() < 0.4}
    return {**options, "sci_mode": r.choice([None, None, True, False])}


def made(t, numbers, dtype, kind):
    tensor = t.from_numpy(numbers).to(getattr(t, dtype))
    if kind == "subclass":
        return t.Tensor._make_subclass(SUBCLASSES[t], tensor)
    if kind == "meta":
        return tensor.to("meta")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    if kind == "parameter":
        return t.nn.Parameter(tensor)
    if kind == "frozen":
        return t.nn.Parameter(tensor, requires_grad=False)
    if kind == "leaf":
        return tensor.requires_grad_()
    if kind == "result" and dtype in REALS:
        return tensor.requires_grad_() * 1
    return tensor


def texts(t, numbers, dtype, kind, options, default):
    try:
        t.set_default_dtype(getattr(t, default))
        t.set_printoptions(profile="default")
        t.set_printoptions(**options)
        tensor = made(t, numbers, dtype, kind)
        found = repr(tensor), str(tensor)
        return (*found, f"{tensor}") if tensor.dim() else found
    finally:
        t.set_default_dtype(t.float32)
        t.set_printoptions(profile="default")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("seed", range(40))
def test_random_tensors(seed):
    r = random.Random(seed)
    for _ in range(60):
        dtype = r.choice(REALS * 2 + INTEGERS + COMPLEX + ["bool"])
        numbers, options = array(r, dtype), options_of(r)
        kind = r.choice(["plain", "parameter", "frozen", "leaf", "result", "subclass", "meta"])
        default = r.choice(["float32", "float32", *REALS])
        case = (numbers, dtype, kind, options, default)
        assert texts(rushlight, *case) == texts(torch, *case), (dtype, kind, options, default)


def test_options_are_read_when_printed():
    for t in (torch, rushlight):
        t.set_printoptions(threshold="many")
        try:
            with pytest.raises(TypeError, match="'>' not supported between instances of 'int' and 'str'"):
                repr(t.ones(3))
        finally:
            t.set_printoptions(profile="default")
