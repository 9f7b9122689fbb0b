"""Every operator on its samples: against NumPy, and against itself in other layouts, in place and out=.

The cases come from the table: a new operator is tested as soon as tests/op_samples has some for it.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import op_samples as samples
from helpers import process
from rushlight import _C

TESTS = Path(__file__).parents[1]
OPERATORS = samples.OPERATORS
CASES = [
    (name, dtype)
    for name, entry in OPERATORS.items()
    for dtype in samples.admitted(entry)
    if any(dtype not in s.without for s in samples.of(name))
]
IN_PLACE = [
    name
    for name, entry in OPERATORS.items()
    if entry["flags"] & samples.INPLACE and entry["flags"] & samples.METHOD and entry["kind"] != 1
]
WITH_OUT = [name for name, entry in OPERATORS.items() if entry["flags"] & samples.OUT]
VIEWS = [name for name, entry in OPERATORS.items() if entry["kind"] == 1]


IN_ORDER_OF_MEMORY = {"multinomial", "alpha_dropout", "native_dropout"}  # their numbers, as their input lies


def call(name, args, kwargs, dtype):
    if name in samples.FACTORIES:
        kwargs = dict(kwargs, dtype=getattr(_C, dtype))
    _C.default_generator.manual_seed(5)
    return samples.flat_results(samples.function(_C, OPERATORS[name])(*args, **kwargs))


def usable(name, dtype):
    return [s for s in samples.of(name) if dtype not in s.without]


def assert_same(ours, expected, dtype, what):
    name = str(ours.dtype).removeprefix("torch.")
    got = samples.as_array(ours)
    assert got.shape == np.shape(expected), what
    with np.errstate(all="ignore"):
        expected = samples.round_to(expected, name)
    rough = dtype if dtype in samples.FLOATS else name
    if got.dtype != np.float64:
        np.testing.assert_array_equal(got, expected, err_msg=what)
    else:
        np.testing.assert_allclose(got, expected.astype(np.float64), err_msg=what, **samples.tolerance(rough))


def test_every_row_has_samples():
    assert set(OPERATORS) == set(samples.SAMPLES)


def test_operators_without_an_answer_of_numpy_are_listed():
    """They have PyTorch's alone (tests/parity); the list gets shorter, and no line is added."""
    listed = (Path(__file__).parent / "without_numpy.txt").read_text().split()
    assert listed == sorted(set(OPERATORS) - set(samples.NUMPY)) and len(listed) <= 361


def test_warnings_are_those_that_samples_expect():
    code = """if True:
        import warnings, op_samples as samples
        from rushlight import _C
        for name, text in samples.WARNS.items():
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                for sample in samples.of(name):
                    args, kwargs = sample.build(_C, "float32")
                    samples._found(_C, samples.OPERATORS[name])(*args, **kwargs)
            print(name, any(str(w.message).startswith(text) for w in seen))
    """
    said = process.python(code, PYTHONPATH=os.pathsep.join([str(process.SOURCE), str(TESTS)]))
    silent = {"_cholesky", "_triangular_solve"}  # under those names PyTorch's warn
    assert said.split() == [word for name in samples.WARNS for word in (name, str(name not in silent))]


@pytest.mark.parametrize("name, dtype", CASES)
def test_against_numpy_and_other_layouts(name, dtype):
    assert usable(name, dtype)
    for sample in usable(name, dtype):
        what = f"{name}({sample}) {dtype}"
        results = call(name, *sample.build(_C, dtype), dtype)
        assert all(type(r) is _C.Tensor for r in results), what
        if name in samples.NUMPY:
            expected = numpy_answer(name, sample, dtype, results)
            for ours, theirs in zip(results, expected, strict=True):
                assert_same(ours, theirs, dtype, what)
        if name in samples.FACTORIES | {"as_strided", "as_strided_copy", "as_strided_scatter"} or (
            name in samples.RANDOM and (name[-1] == "_" or "_like" in name or name in IN_ORDER_OF_MEMORY)
        ):
            continue  # without an input, without another layout, or filled in the order of memory
        for layout in samples.LAYOUTS[1:]:
            try:
                others = call(name, *sample.build(_C, dtype, layout), dtype)
            except RuntimeError as error:
                if name == "view" and "size is not compatible" in str(error):
                    continue
                raise
            for plain, other in zip(results, others, strict=True):
                assert str(plain.dtype) == str(other.dtype)
                if name not in samples.UNINITIALISED:
                    assert_same(other, samples.as_array(plain), dtype, f"{what} {layout}")


def numpy_answer(name, sample, dtype, results):
    args, kwargs = sample.arrays(dtype)
    result = str(results[0].dtype).removeprefix("torch.")

    def widen(a):
        """Floats to float64; integers of the dtype under test, too, if the operator answers with floats."""
        if isinstance(a, list):
            return [widen(b) for b in a]
        if not isinstance(a, np.ndarray) or (a.dtype.kind != "f" and str(a.dtype) != dtype):
            return a
        if result in samples.FLOATS and dtype not in samples.FLOATS and name != "where":
            return a.astype(result).astype(np.float64)
        return a.astype(np.float64) if a.dtype.kind == "f" else a

    with np.errstate(all="ignore"):
        answer = samples.NUMPY[name](*[widen(a) for a in args], **kwargs)
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_twin_writes_the_same(name):
    tried = 0
    for dtype in samples.admitted(OPERATORS[name]):
        for sample in usable(name, dtype):
            args, kwargs = sample.build(_C, dtype)
            (expected,) = call(name, args, kwargs, dtype)
            if expected.shape != args[0].shape or str(expected.dtype) != str(args[0].dtype):
                continue
            for layout in samples.LAYOUTS:
                args, kwargs = sample.build(_C, dtype, layout)
                version = args[0]._version
                _C.default_generator.manual_seed(5)
                result = getattr(args[0], OPERATORS[name]["name"] + "_")(*args[1:], **kwargs)
                assert result is args[0] and result._version == version + 1
                assert_same(result, samples.as_array(expected), dtype, f"{name}_({sample}) {dtype} {layout}")
                tried += 1
    assert tried


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_takes_the_result(name):
    tried = 0
    for dtype in ("float32", "int64"):
        if dtype not in samples.admitted(OPERATORS[name]):
            continue
        for sample in usable(name, dtype):
            args, kwargs = sample.build(_C, dtype)
            expected = call(name, args, kwargs, dtype)
            for empty in (False, True):  # the right shape, and one that grows
                outs = tuple(_C.empty((0,) if empty else tuple(e.shape), dtype=e.dtype) for e in expected)
                if name in samples.FACTORIES:
                    kwargs = dict(kwargs, dtype=expected[0].dtype)
                one = not isinstance(samples.function(_C, OPERATORS[name])(*args, **kwargs), tuple)
                _C.default_generator.manual_seed(5)
                result = samples.function(_C, OPERATORS[name])(*args, **kwargs, out=outs[0] if one else outs)
                for out, given, want in zip(samples.flat_results(result), outs, expected, strict=True):
                    assert out is given and out.shape == want.shape
                    if name not in samples.UNINITIALISED:
                        assert_same(out, samples.as_array(want), dtype, f"{name}({sample}, out=) {dtype}")
                tried += 1
    assert tried


def test_out_warns_where_it_is_resized():
    out = _C.ones(3)
    with pytest.warns(UserWarning, match=r"since it had shape \[3\], which does not match .* shape \[2, 2\]"):
        _C.exp(_C.zeros(2, 2), out=out)
    assert out.tolist() == [[1, 1], [1, 1]]


def test_out_of_several_results_takes_as_many_tensors():
    values, indices = _C.empty(0), _C.empty(0, dtype=_C.int64)
    result = _C.max(_C.tensor([[1.0, 3.0], [2.0, 0.0]]), 1, out=(values, indices))
    assert result.values is values and result.indices is indices
    assert (values.tolist(), indices.tolist()) == ([3, 2], [1, 0])
    for wrong in (values, (values,), (values, 3), [values, indices, values]):
        with pytest.raises(TypeError):
            _C.max(_C.ones(2, 2), 1, out=wrong)


@pytest.mark.parametrize("name", [name for name in VIEWS if usable(name, "float32")])
def test_views_share_memory(name):
    for sample in usable(name, "float32"):
        args, kwargs = sample.build(_C, "float32")
        (view,) = call(name, args, kwargs, "float32")
        assert view._base is args[0]
        assert _C._storage_id(view) == _C._storage_id(args[0])
        if view.numel():
            view.as_strided((1,), (1,), view.storage_offset()).fill_(77)
            assert 77 in samples.as_array(args[0])


@pytest.mark.parametrize("name", [name for name in VIEWS if OPERATORS[name]["flags"] & samples.INPLACE])
def test_a_view_in_place_becomes_the_view(name):
    for sample in samples.of(name):
        args, kwargs = sample.build(_C, "float32")
        (view,) = call(name, args, kwargs, "float32")
        version, storage = args[0]._version, _C._storage_id(args[0])
        result = getattr(args[0], OPERATORS[name]["name"] + "_")(*args[1:], **kwargs)
        assert result is args[0] and _C._storage_id(result) == storage and result._version == version + 1
        assert (result.shape, result.stride()) == (view.shape, view.stride())
        assert_same(result, samples.as_array(view), "float32", name)


def test_a_view_in_place_has_its_gradient():
    leaf = _C.ones(2, 1, 3, requires_grad=True)
    x = leaf * 2
    x.squeeze_().t_().unsqueeze_(0).transpose_(0, 2)
    assert x.shape == (2, 3, 1) and type(x.grad_fn).__name__ == "TransposeBackward0"
    (x * _C.arange(6.0).view(2, 3, 1)).sum().backward()
    assert leaf.grad.tolist() == [[[0, 2, 4]], [[6, 8, 10]]]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place"):
        leaf.t_()


# which make int64 of a bool and a whole number
PROMOTED = {"clamp_min", "clamp_max", "remainder_number"} | {
    f"bitwise_{side}_shift{left}" for side in ("left", "right") for left in ("", "_number")
}
REFUSING = [
    (name, dtype)
    for name, entry in OPERATORS.items()
    for dtype in samples.DTYPES
    if dtype not in samples.admitted(entry) and not (dtype == "bool" and name in PROMOTED)
] + [
    (n, d)
    for n in OPERATORS
    for d in samples.DTYPES
    if any(d in s.without for s in samples.SAMPLES.get(n, ()))
]


# what PyTorch's texts call a dtype, and what C++ does
TITLES = dict(uint8="Byte", int8="Char", int16="Short", int32="Int", int64="Long", bool="Bool")
TITLES |= dict(float16="Half", bfloat16="BFloat16", float32="Float", float64="Double")
IN_CPP = dict(uint8="unsigned char", int8="signed char", int16="short int", int32="int", int64="long int")
IN_CPP |= dict(bool="bool", float16="c10::Half", bfloat16="c10::BFloat16", float32="float", float64="double")


def refusals():
    """{operator: [(type, text)]} of those that refuse a dtype otherwise than by a NotImplementedError."""
    found = {}
    for rule in re.findall(
        r"(\w+) \| (.*)\n    (.*)\n", (Path(__file__).parent / "refusals.txt").read_text()
    ):
        for name in rule[2].split():
            found.setdefault(name, []).append(rule[:2])
    return found


REFUSALS = refusals()


@pytest.mark.parametrize("name, dtype", REFUSING)
def test_other_dtypes_are_refused(name, dtype):
    calls, title = samples.of(name), TITLES[dtype]
    tensor = "CPUBoolType" if dtype == "bool" else f"torch.{title}Tensor"
    texts = {
        (kind, text.format(title=title, cpp=IN_CPP[dtype], tensor=tensor))
        for kind, text in REFUSALS.get(name, ())
    }
    for sample in [s for s in calls if dtype in s.without] or calls[:1]:
        args, kwargs = sample.build(_C, dtype)
        with pytest.raises((NotImplementedError, RuntimeError, ValueError)) as caught:
            call(name, args, kwargs, dtype)
        said = (caught.type.__name__, str(caught.value))
        assert said in texts or re.fullmatch(rf"\"\w+\" not implemented for '{title}'", said[1]), said


LAST = {"linalg_lu", "lu_unpack"}  # their first result is a permutation


@pytest.mark.parametrize("name", [n for n, r in OPERATORS.items() if r["node"] and r["kind"] == 0])
def test_history_is_recorded_for_floats(name):
    if OPERATORS[name]["flags"] & samples.NO_GRAD:
        pytest.fail("an operator without gradient names no node")
    for sample in samples.of(name)[:1]:
        args, kwargs = sample.build(_C, "float32")
        if OPERATORS[name]["flags"] & samples.ONLY_INPLACE:
            continue
        for t in args:
            for tensor in t if isinstance(t, list) else [t]:
                if isinstance(tensor, _C.Tensor) and tensor.is_floating_point():
                    tensor.requires_grad_()
        result = call(name, args, kwargs, "float32")[-1 if name in LAST else 0]
        assert result.requires_grad and not result.is_leaf
        node = result.grad_fn.name().removeprefix("torch::autograd::")
        assert node.rstrip("012") == OPERATORS[name]["node"].rstrip("012")  # PyTorch numbers overloads


NAMES = [e["name"] for e in OPERATORS.values() if e["flags"] & (samples.FN | samples.NN)]
OVERLOADED = sorted({name for name in NAMES if NAMES.count(name) > 1})


@pytest.mark.without_samples
@pytest.mark.parametrize("name", OVERLOADED)
def test_arguments_that_fit_no_overload(name):
    """The error lists every overload, as PyTorch's does."""
    entries = [e for e in OPERATORS.values() if e["name"] == name]
    with pytest.raises(TypeError, match="received an invalid combination of arguments") as caught:
        samples.function(_C, entries[0])(*[object()] * 9)
    assert str(caught.value).count("\n * (") >= len(entries)
    assert all(argument in str(caught.value) for e in entries for argument in arguments_of(e["schema"]))


def arguments_of(schema):
    """Names of the arguments of "sum(Tensor input, int[1]? dim=None) -> Tensor"."""
    return re.findall(r"(\w+)(?:=[^,)]*)?(?=[,)])", schema.partition("(")[2].partition(") ->")[0] + ")")
