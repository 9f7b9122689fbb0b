"""Every CUDA kernel on the samples of its operator: what the CPU answers, however tensors lie."""

import contextlib

import numpy as np
import pytest

import op_samples as samples
import rushlight
from rushlight import _C

from .conftest import indices_of_64_bits

OPERATORS = {name: entry for name, entry in samples.OPERATORS.items() if entry["cuda"]}
CASES = [(name, dtype) for name, entry in OPERATORS.items() for dtype in samples.admitted(entry)]
# "shifted": dense, but not where a vector of elements may begin; "wide": counted as if it were very large
LAYOUTS = [*samples.LAYOUTS, "expanded", "mixed", "shifted", "wide"]
STAY_PUT = {"as_strided_scatter"}  # name places of the storage: their tensors are not shifted
NUMBERS_STAY = {"randint_like_tensor"}  # tensors but the first are numbers, which stay on the CPU
DEVICES = [f"cuda:{i}" for i in range(min(rushlight.cuda.device_count(), 2))]


# ---- where a call runs ----
def streams():
    """One that is not the default one for each device; made when they are first needed."""
    if not streams.made:
        streams.made = {device: rushlight.cuda.Stream(device) for device in DEVICES}
    return streams.made


streams.made = {}


@contextlib.contextmanager
def place(number, layout):
    """The device of call `number`; some run on a stream beside the default one."""
    device = DEVICES[number % len(DEVICES)]
    with contextlib.ExitStack() as stack:
        if number // len(DEVICES) % 2:
            stack.enter_context(rushlight.cuda.stream(streams()[device]))
        if layout == "wide":
            stack.enter_context(indices_of_64_bits())
        yield device


# ---- the same call on a device ----
def moved(value, device, shift=0):
    """Each tensor as it lies, in as much memory; one that is dense `shift` elements further on."""
    if isinstance(value, _C.Tensor):
        size = value.untyped_storage().nbytes() // value.element_size()
        if value.numel() == 0:
            return value.to(device)
        first = value.storage_offset()
        memory = value.as_strided((size,), (1,), 0)
        if shift and size == value.numel():
            memory = _C.cat([memory[:1]] * shift + [memory])
            first += shift
        return memory.to(device).as_strided(value.shape, value.stride(), first)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(each, device, shift) for each in value)
    return value


def call(name, args, kwargs, dtype, device, shift=0):
    if name in samples.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype), device=device)
    first = args[:1] if name in NUMBERS_STAY else args
    args = (*moved(first, device, shift), *args[len(first) :])
    kwargs = {key: moved(value, device, shift) for key, value in kwargs.items()}
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


def lie(name, sample):
    """In which layouts a sample is called: the first in all, the others in every second one."""
    layouts = LAYOUTS if name not in samples.FACTORIES else ["plain", "wide"]
    return layouts[sample % 2 :: 2] if sample and len(layouts) > 2 else layouts


@pytest.mark.parametrize("name, dtype", CASES)
def test_same_as_on_the_cpu(name, dtype):
    number = 0
    for i, sample in enumerate(s for s in samples.of(name) if dtype not in s.without):
        for layout in lie(name, i):
            lying = "plain" if layout in ("shifted", "wide") else layout
            try:
                expected = call(name, *sample.build(_C, dtype, lying), dtype, "cpu")
            except RuntimeError:
                if lying == "plain":
                    raise
                continue  # written in place where elements are one, say; tests/ops knows which
            shift = int(layout == "shifted" and name not in STAY_PUT)
            with place(number, layout) as device:
                what = f"{name}({sample}) {dtype} {layout} {device}, call {number}"
                results = call(name, *sample.build(_C, dtype, lying), dtype, device, shift)
                for ours, theirs in zip(results, expected, strict=True):
                    assert ours.device == _C.device(device), what
                    if name not in samples.UNINITIALISED | samples.RANDOM:
                        assert_same(ours, theirs, dtype, what)
            number += 1
