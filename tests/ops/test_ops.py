"""Every operator row on its samples: against NumPy, and against itself in other layouts, in place and out=.

The cases come from the table: a new row is tested as soon as tests/opinfo.py has samples for it.
"""

import numpy as np
import pytest

import opinfo
from opinfo_numpy import NUMPY
from rushlight import _C

ROWS = opinfo.ROWS
CASES = [(name, dtype) for name, row in ROWS.items() for dtype in opinfo.admitted(row)]
IN_PLACE = [
    name for name, row in ROWS.items() if row["flags"] & opinfo.INPLACE and row["flags"] & opinfo.METHOD
]
WITH_OUT = [name for name, row in ROWS.items() if row["flags"] & opinfo.OUT]
VIEWS = [name for name, row in ROWS.items() if row["kind"] == 1]


def call(name, args, kwargs, dtype):
    if name in opinfo.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype))
    _C.default_generator.manual_seed(5)
    return opinfo.flat_results(opinfo.function(_C, ROWS[name])(*args, **kwargs))


def usable(name, dtype):
    return [s for s in opinfo.samples(name) if dtype not in s.without]


def assert_same(ours, expected, dtype, what):
    name = str(ours.dtype).removeprefix("torch.")
    got = opinfo.as_array(ours)
    assert got.shape == np.shape(expected), what
    with np.errstate(all="ignore"):
        expected = opinfo.round_to(expected, name)
    rough = dtype if dtype in opinfo.FLOATS else name
    if got.dtype != np.float64:
        np.testing.assert_array_equal(got, expected, err_msg=what)
    else:
        np.testing.assert_allclose(got, expected.astype(np.float64), err_msg=what, **opinfo.tolerance(rough))


def test_every_row_has_samples():
    assert set(ROWS) == set(opinfo.SAMPLES)


@pytest.mark.parametrize("name, dtype", CASES)
def test_against_numpy_and_other_layouts(name, dtype):
    for sample in usable(name, dtype):
        what = f"{name}({sample}) {dtype}"
        results = call(name, *sample.build(_C, dtype), dtype)
        assert all(type(r) is _C.Tensor for r in results), what
        if name in NUMPY:
            expected = numpy_answer(name, sample, dtype, results)
            for ours, theirs in zip(results, expected, strict=True):
                assert_same(ours, theirs, dtype, what)
        if name in opinfo.FACTORIES | {"as_strided"} or (
            name in opinfo.RANDOM and name.endswith(("_", "_like"))
        ):
            continue  # without an input, without another layout, or filled in the order of memory
        for layout in opinfo.LAYOUTS[1:]:
            try:
                others = call(name, *sample.build(_C, dtype, layout), dtype)
            except RuntimeError as error:
                if name == "view" and "size is not compatible" in str(error):
                    continue
                raise
            for plain, other in zip(results, others, strict=True):
                assert str(plain.dtype) == str(other.dtype)
                if name not in opinfo.UNINITIALISED:
                    assert_same(other, opinfo.as_array(plain), dtype, f"{what} {layout}")


def numpy_answer(name, sample, dtype, results):
    args, kwargs = sample.arrays(dtype)
    result = str(results[0].dtype).removeprefix("torch.")

    def widen(a):
        """Floats to float64; integers of the dtype under test, too, if the row answers with floats."""
        if isinstance(a, list):
            return [widen(b) for b in a]
        if not isinstance(a, np.ndarray) or (a.dtype.kind != "f" and str(a.dtype) != dtype):
            return a
        if result in opinfo.FLOATS and dtype not in opinfo.FLOATS and name != "where":
            return a.astype(result).astype(np.float64)
        return a.astype(np.float64) if a.dtype.kind == "f" else a

    with np.errstate(all="ignore"):
        answer = NUMPY[name](*[widen(a) for a in args], **kwargs)
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_twin_writes_the_same(name):
    tried = 0
    for dtype in opinfo.admitted(ROWS[name]):
        for sample in usable(name, dtype):
            args, kwargs = sample.build(_C, dtype)
            (expected,) = call(name, args, kwargs, dtype)
            if expected.shape != args[0].shape or str(expected.dtype) != str(args[0].dtype):
                continue
            for layout in opinfo.LAYOUTS:
                args, kwargs = sample.build(_C, dtype, layout)
                version = args[0]._version
                _C.default_generator.manual_seed(5)
                result = getattr(args[0], ROWS[name]["name"] + "_")(*args[1:], **kwargs)
                assert result is args[0] and result._version == version + 1
                assert_same(result, opinfo.as_array(expected), dtype, f"{name}_({sample}) {dtype} {layout}")
                tried += 1
    assert tried


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_takes_the_result(name):
    tried = 0
    for dtype in ("float32", "int64"):
        if dtype not in opinfo.admitted(ROWS[name]):
            continue
        for sample in usable(name, dtype):
            args, kwargs = sample.build(_C, dtype)
            (expected,) = call(name, args, kwargs, dtype)
            for shape in (tuple(expected.shape), (0,)):  # the right one, and one that grows
                out = _C.empty(shape, dtype=expected.dtype)
                if name in opinfo.FACTORIES:
                    kwargs = dict(kwargs, dtype=expected.dtype)
                assert opinfo.function(_C, ROWS[name])(*args, **kwargs, out=out) is out
                assert_same(out, opinfo.as_array(expected), dtype, f"{name}({sample}, out=) {dtype}")
                tried += 1
    assert tried


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    for sample in opinfo.samples(name):
        args, kwargs = sample.build(_C, "float32")
        (view,) = call(name, args, kwargs, "float32")
        assert view._base is args[0]
        assert _C._storage_id(view) == _C._storage_id(args[0])
        if view.numel():
            view.as_strided((1,), (1,), view.storage_offset()).fill_(77)
            assert 77 in opinfo.as_array(args[0])


REFUSING = [
    (name, dtype)
    for name, row in ROWS.items()
    for dtype in opinfo.DTYPES
    if dtype not in opinfo.admitted(row) and (name, dtype) != ("clamp", "bool")  # becomes int64
] + [(n, d) for n in ROWS for d in opinfo.DTYPES if any(d in s.without for s in opinfo.SAMPLES.get(n, ()))]


@pytest.mark.parametrize("name, dtype", REFUSING)
def test_other_dtypes_are_refused(name, dtype):
    samples = opinfo.samples(name)
    for sample in [s for s in samples if dtype in s.without] or samples[:1]:
        args, kwargs = sample.build(_C, dtype)
        with pytest.raises((NotImplementedError, RuntimeError, TypeError, ValueError)):
            call(name, args, kwargs, dtype)


@pytest.mark.parametrize("name", [n for n, r in ROWS.items() if r["node"] and r["kind"] == 0])
def test_history_is_recorded_for_floats(name):
    if ROWS[name]["flags"] & opinfo.NO_GRAD:
        pytest.fail("a row without gradient names no node")
    for sample in opinfo.samples(name)[:1]:
        args, kwargs = sample.build(_C, "float32")
        if ROWS[name]["flags"] & opinfo.ONLY_INPLACE:
            continue
        for t in args:
            for tensor in t if isinstance(t, list) else [t]:
                if isinstance(tensor, _C.Tensor) and tensor.is_floating_point():
                    tensor.requires_grad_()
        result = call(name, args, kwargs, "float32")[0]
        assert result.requires_grad and not result.is_leaf
        node = result.grad_fn.name().removeprefix("torch::autograd::")
        assert node.rstrip("012") == ROWS[name]["node"].rstrip("012")  # PyTorch numbers overloads
