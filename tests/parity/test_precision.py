"""Switches of TF32: after each step of a random walk all of them read as PyTorch's do, errors included."""

import random
import warnings

import pytest
import torch

import rushlight

PATHS = ["", "cuda.matmul", "cudnn", "cudnn.conv", "cudnn.rnn", "mkldnn"]
PATHS += ["mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn"]
PRECISIONS = ["tf32", "ieee", "bf16", "none", "none", "x", 3]


def at(library, path):
    found = library.backends
    for name in path.split("."):
        found = getattr(found, name) if name else found
    return found


def attempt(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError, AttributeError) as error:
        return type(error), str(error).split("\nException raised")[0]


def states(library):
    read = [attempt(getattr, at(library, path), "fp32_precision") for path in PATHS]
    read += [attempt(getattr, at(library, path), "allow_tf32") for path in ("cuda.matmul", "cudnn")]
    return [*read, attempt(library.get_float32_matmul_precision)]


def step(rng):
    """A function of a library that sets one of the switches."""
    kind, path, old = rng.randrange(3), rng.choice(PATHS), rng.choice(["cuda.matmul", "cudnn"])
    new, flag = rng.choice(PRECISIONS), rng.choice([True, False, 1])
    whole = rng.choice(["highest", "high", "medium", "x", 3])
    if kind == 0:
        return lambda library: attempt(setattr, at(library, path), "fp32_precision", new)
    if kind == 1:
        return lambda library: attempt(setattr, at(library, old), "allow_tf32", flag)
    return lambda library: attempt(library.set_float32_matmul_precision, whole)


def restore(library):
    for path in PATHS:
        at(library, path).fp32_precision = "none"
    library.backends.cudnn.allow_tf32 = True
    library.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("seed", range(5))
def test_switches_walk_together(seed):
    rng = random.Random(seed)
    for library in (rushlight, torch):  # other tests may have set some
        restore(library)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(60):
                take = step(rng)
                assert take(rushlight) == take(torch)
                assert states(rushlight) == states(torch)
    finally:
        restore(rushlight)
        restore(torch)


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "value", [True, False, (False, False), (True, False), [True], (), (1,), (True,) * 3, 2]
)
def test_sums_of_halves(kind, value):
    name = f"allow_{kind}_reduced_precision_reduction"

    def both(library):
        of = library.backends.cuda.matmul
        answer = attempt(setattr, of, name, value)
        read = getattr(of, name), getattr(of, name + "_split_k"), of.allow_fp16_accumulation
        setattr(of, name, True)
        return answer, read

    assert both(rushlight) == both(torch)


def test_unknown_switches():
    for attribute in ("x", "allow_fp16_reduced_precision_reduction_split_k"):
        for library in (rushlight, torch):
            with pytest.raises(AttributeError, match=f"^Unknown attribute {attribute}$"):
                setattr(library.backends.cuda.matmul, attribute, True)
    with pytest.raises(AttributeError, match="^Unknown attribute x$"):
        _ = rushlight.backends.cudnn.conv.x
