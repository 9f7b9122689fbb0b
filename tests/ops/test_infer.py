"""What an operator would return, found by its rules alone (ops/infer.c), is what it returns."""

import pytest

import op_samples as samples
from rushlight import _C

ALL = samples.OPERATORS
COMPOSITES = {name for name, entry in ALL.items() if entry["kind"] == 2}


@pytest.mark.parametrize("name", ALL)
def test_inferred_results_are_those_of_the_call(name):
    for dtype in samples.admitted(ALL[name]):
        for sample in samples.of(name):
            if dtype in sample.without:
                continue
            args, kwargs = sample.build(_C, dtype)
            if name in samples.FACTORIES:
                kwargs = dict(kwargs, dtype=getattr(_C, dtype))
            inferred = _C._infer(name, *args, **kwargs)
            assert (inferred is None) == (name in COMPOSITES)
            results = samples.flat_results(samples.function(_C, ALL[name])(*args, **kwargs))
            for (found, shape), result in zip(inferred or (), results, strict=False):
                assert (f"torch.{found}", shape) == (str(result.dtype), result.shape), f"{name}({sample})"


@pytest.mark.without_samples
@pytest.mark.parametrize(
    "name, args, text",
    [
        ("add", (_C.ones((2, 3)), _C.ones((4,))), "must match the size"),
        ("mm", (_C.ones((2, 3)), _C.ones((2, 3))), "shapes cannot be multiplied"),
        ("view", (_C.ones((2, 3)), (4,)), "is invalid for input of size 6"),
    ],
)
def test_inferring_refuses_what_the_call_refuses(name, args, text):
    with pytest.raises(RuntimeError, match=text):
        _C._infer(name, *args)


def test_inferring_needs_no_memory():
    """Not even that of the inputs: 2^58 elements are described, nothing is allocated."""
    huge = _C.ones((1,)).expand((1 << 58,))
    before = _C._live()["bytes"]
    assert _C._infer("mul", huge, huge) == [("float32", (1 << 58,))]
    assert _C._live()["bytes"] == before


def test_inferring_names_an_unknown_operator():
    with pytest.raises(ValueError, match="no operator is called 'conv9d'"):
        _C._infer("conv9d")
