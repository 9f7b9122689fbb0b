"""Every CUDA kernel on the samples of its operator: what the CPU answers, on any device, in any layout."""

import numpy as np
import pytest

import rushlight
import samples
from rushlight import _C

OPERATORS = {name: entry for name, entry in samples.OPERATORS.items() if entry["cuda"]}
CASES = [(name, dtype) for name, entry in OPERATORS.items() for dtype in samples.admitted(entry)]
LAYOUTS = [*samples.LAYOUTS, "expanded", "mixed"]
NUMBERS_STAY = {"randint_like_tensor"}  # tensors but the first are numbers, which stay on the CPU
DEVICES = [f"cuda:{i}" for i in range(min(rushlight.cuda.device_count(), 2))]


def moved(value, device):
    """The same call on a device: each tensor as it lies, at the same offset."""
    if isinstance(value, _C.Tensor):
        size = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
        if value.numel() == 0:
            return value.to(device)
        first = value.storage_offset()
        memory = value.as_strided((first + size,), (1,), 0).to(device)
        return memory.as_strided(value.shape, value.stride(), first)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(each, device) for each in value)
    return value


def call(name, args, kwargs, dtype, device):
    if name in samples.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype), device=device)
    first = args[:1] if name in NUMBERS_STAY else args
    args = (*moved(first, device), *args[len(first) :])
    kwargs = {key: moved(value, device) for key, value in kwargs.items()}
    return samples.flat_results(samples.function(_C, OPERATORS[name])(*args, **kwargs))


def assert_same(ours, expected, dtype, what):
    assert str(ours.dtype) == str(expected.dtype) and ours.shape == expected.shape, what
    got, wanted = samples.as_array(ours.cpu()), samples.as_array(expected)
    if got.dtype != np.float64:
        np.testing.assert_array_equal(got, wanted, err_msg=what)
    else:
        name = str(ours.dtype).removeprefix("torch.")
        rough = dtype if dtype in samples.FLOATS else name
        np.testing.assert_allclose(got, wanted, err_msg=what, **samples.tolerance(rough))


@pytest.mark.parametrize("name, dtype", CASES)
def test_same_as_on_the_cpu(name, dtype):
    for i, sample in enumerate(s for s in samples.of(name) if dtype not in s.without):
        device = DEVICES[i % len(DEVICES)]
        for layout in LAYOUTS if name not in samples.FACTORIES else ["plain"]:
            what = f"{name}({sample}) {dtype} {layout} {device}"
            try:
                expected = call(name, *sample.build(_C, dtype, layout), dtype, "cpu")
            except RuntimeError:
                if layout == "plain":
                    raise
                continue  # written in place where elements are one, say; tests/ops knows which
            results = call(name, *sample.build(_C, dtype, layout), dtype, device)
            for ours, theirs in zip(results, expected, strict=True):
                assert ours.device == _C.device(device), what
                if name not in samples.UNINITIALISED | samples.RANDOM:
                    assert_same(ours, theirs, dtype, what)
