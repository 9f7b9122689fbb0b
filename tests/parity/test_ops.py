"""The samples of every operator under real PyTorch: same values, dtype, strides; same refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import op_samples as samples  # noqa: E402
from rushlight import _C  # noqa: E402

OPERATORS = samples.OPERATORS
# Where the last bits depend on the order of summation, which differs from machine to machine.
LOOSE = {"float16": dict(rtol=2e-3, atol=2e-3), "bfloat16": dict(rtol=1.6e-2, atol=1.6e-2)}
# Whose doubles are good to eight or nine digits there.
COARSE = {
    *("polygamma", "polygamma_method", "special_polygamma", "igamma", "igammac"),
    *(f"special_bessel_{kind}" for kind in ("j0", "j1", "y0", "y1")),
}


def outcome(library, name, sample, dtype, layout):
    """Results, or the exception, of one library."""
    try:
        args, kwargs = sample.build(library, dtype, layout)
        if name in samples.FACTORIES:
            kwargs = dict(kwargs, dtype=getattr(library, dtype))
        library.default_generator.manual_seed(5)
        return samples.agreed(library, name, samples.function(library, OPERATORS[name])(*args, **kwargs))
    except Exception as error:
        return error


def is_empty(sample):
    return any(0 in p.shape for p in sample.args if isinstance(p, samples.Placeholder))


def few(sample, results):
    return is_empty(sample) or all(r.numel() <= 1 for r in results)


def has_results(name, dtype):
    """Of both libraries, with numbers that can be compared."""
    either = (name, dtype) in samples.WIDER | samples.NARROWER or name in samples.UNINITIALISED
    usable = [s for s in samples.of(name) if dtype not in s.without and not is_empty(s)]
    return dtype in samples.admitted(OPERATORS[name]) and usable and not either


def compare(name, sample, dtype, layout):
    """Compare one call, and return how many numbers of it."""
    what = f"{name}({sample}) {dtype} {layout}"
    ours = outcome(_C, name, sample, dtype, layout)
    theirs = outcome(torch, name, sample, dtype, layout)
    if isinstance(theirs, Exception):
        if (name, dtype) not in samples.WIDER:
            assert isinstance(ours, type(theirs)), f"{what}: PyTorch raises {theirs!r}, here {ours!r}"
        return 0
    if isinstance(ours, NotImplementedError) and (name, dtype) in samples.NARROWER:
        return 0
    if isinstance(ours, NotImplementedError) and dtype not in samples.admitted(OPERATORS[name]):
        # PyTorch looks at the dtype only where there is something to compute
        assert few(sample, theirs), f"{what}: {ours!r}"
        return 0
    assert not isinstance(ours, Exception), f"{what}: {ours!r}"
    for a, b in zip(ours, theirs, strict=True):
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape)), what
        if name in samples.UNINITIALISED:
            continue
        got, expected = samples.as_array(a), samples.as_array(b)
        if got.dtype != np.float64:
            np.testing.assert_array_equal(got, expected, err_msg=what)
        else:
            kind = str(a.dtype).removeprefix("torch.")
            limits = LOOSE.get(kind) or samples.tolerance(kind)
            if (name, kind) == ("batch_norm", "bfloat16"):
                limits = dict(rtol=1.6e-2, atol=4e-2)  # PyTorch rounds on the way if the input is strided
            if name in COARSE and kind == "float64":
                limits = dict(rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(got, expected, err_msg=what, **limits)
    return 0 if name in samples.UNINITIALISED else sum(b.numel() for b in theirs)


@pytest.mark.parametrize("dtype", samples.DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_same_as_pytorch(name, dtype):
    layouts = ["plain"] if name == "as_strided" else samples.LAYOUTS
    compared = sum(compare(name, sample, dtype, layout) for sample in samples.of(name) for layout in layouts)
    assert compared or not has_results(name, dtype)


@pytest.mark.parametrize("name", [n for n, r in OPERATORS.items() if r["kind"] == 1])
def test_views_have_the_same_strides(name):
    for sample in samples.of(name):
        if is_empty(sample):
            continue  # strides of nothing
        for layout in samples.LAYOUTS if name != "as_strided" else ["plain"]:
            ours, theirs = (outcome(lib, name, sample, "float32", layout) for lib in (_C, torch))
            if isinstance(theirs, Exception):
                assert isinstance(ours, type(theirs))
                assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]
                continue
            a, b = ours[0], theirs[0]
            assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset()), f"{sample} {layout}"
