"""Each class of torch.nn in both libraries, by the table in every_layer.py.

It is made, printed, saved, pickled, run forward and backward in three dtypes, with hooks and with other
parameters, and given what it refuses: numbers, texts and errors must be equal.
"""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import rushlight

from .every_layer import ELSEWHERE, ROWS

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)
TOLERANCE = {"float32": 2e-5, "float64": 1e-9, "bfloat16": 6e-2}
WRONG = ["x(1,1,1,1,1,1,1)", "None", "[1.0]", ""]


def classes(t):
    found = {name: getattr(t.nn, name) for name in dir(t.nn)}
    return {n for n, c in found.items() if isinstance(c, type) and issubclass(c, t.nn.Module)}


def scope(t, dtype):
    """The words of the table, for one library."""
    kind = getattr(t, dtype)

    def numbers(*shape):
        count = int(np.prod(shape))
        return t.tensor(np.sin(np.arange(count) * 1.7 + 0.3).reshape(shape), dtype=kind)

    def whole(below, *shape):
        return t.tensor((np.arange(int(np.prod(shape))) * 7 % 11 % below).reshape(shape))

    words = {"torch": t, "nn": t.nn, "x": numbers, "i": whole, "L": 1}
    words["p"] = lambda *shape: numbers(*shape) * 0.4 + 0.5
    words["s"] = lambda *shape: numbers(*shape).sign()
    return words


def made(t, name, options, dtype="float32"):
    t.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"nn.{name}({options})", scope(t, dtype))


def said(text):
    """Without the library's name, addresses, and where PyTorch's C++ stood."""
    text = (
        str(text)
        .replace("rushlight", "torch")
        .replace("CPUBFloat16Type", "torch.BFloat16Tensor")
        .split("\nException raised")[0]
    )
    return re.sub(r" at 0x\w+|^_?\w+(?=\.forward\(\))", "", text)


def array(x):
    return np.array(x.detach().tolist(), dtype=float).reshape(tuple(x.shape))


def flat(result):
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in flat(part)]
    return [result] if hasattr(result, "dtype") else []


def outcome(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error).__name__, said(error)


# PyTorch has no kernel for that, or fails by chance; here it is computed
ABLE = re.compile("not implemented for|index 0 out of range for tensor of size .0.")


def answered(result):
    """An error as it is, tensors as a list."""
    return result if isinstance(result, tuple) and isinstance(result[0], str) else flat(result)


def same(ours, theirs, tolerance, what):
    if isinstance(theirs, tuple) and ABLE.search(theirs[1]) and not isinstance(ours, tuple):
        return
    if isinstance(ours, tuple) or isinstance(theirs, tuple):  # errors
        assert ours == theirs, what
        return
    assert len(ours) == len(theirs), what
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None), what
        if a is not None:
            assert (said(a.dtype), tuple(a.shape)) == (said(b.dtype), tuple(b.shape)), what
            np.testing.assert_allclose(array(a), array(b), rtol=tolerance, atol=tolerance, err_msg=what)


def run(t, module, inputs, dtype):
    """Results, then gradients of the inputs and of the parameters."""
    t.manual_seed(5)
    args = eval(f"({inputs},)" if inputs else "()", scope(t, dtype))
    leaves = [a.requires_grad_() for a in args if hasattr(a, "dtype") and a.is_floating_point()]
    leaves = leaves[:1]
    call = [
        a.clone() if any(a is leaf for leaf in leaves) else a for a in args
    ]  # some write into their input
    results = [r for r in flat(module(*call))]
    slopes = [r for r in results if r.is_floating_point() and r.requires_grad]
    total = sum((r * scope(t, dtype)["x"](*r.shape)).sum() for r in slopes)
    if slopes:
        total.backward()
    return [*results, *(leaf.grad for leaf in leaves), *(p.grad for p in module.parameters())]


def twin(t, module):
    """A copy; of what is lazy the thing itself, which has no copy yet."""
    lazy = any(t.nn.parameter.is_lazy(v) for v in [*module.parameters(), *module.buffers()])
    return module if lazy else copy.deepcopy(module)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The numbers are small: waking others takes longer than the work."""
    before = [t.get_num_threads() for t in BOTH]
    for t in BOTH:
        t.set_num_threads(1)
    yield
    for t, n in zip(BOTH, before):
        t.set_num_threads(n)


CASES = [pytest.param(name, id=name) for name in sorted(ROWS)]


def test_every_class_has_a_row():
    assert classes(rushlight) == set(ROWS) | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_made_printed_saved(name):
    for options in ROWS[name][0]:
        theirs, ours = (made(t, name, options) for t in BOTH)
        assert said(repr(ours)) == said(repr(theirs)), options
        numbers = [
            {
                k: said(v)
                for k, v in vars(m).items()
                if k[0] != "_" and isinstance(v, (int, float, str, tuple, list, type(None)))
            }
            for m in (ours, theirs)
        ]
        assert numbers[0] == numbers[1], options
        if name.startswith("Lazy"):
            continue
        states = [m.state_dict() for m in (ours, theirs)]
        assert list(states[0]) == list(states[1]), options
        same(list(states[0].values()), list(states[1].values()), 1e-6, options)
        for other in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
            assert repr(other) == repr(ours), options
            same(list(other.state_dict().values()), list(states[0].values()), 0, options)


@pytest.mark.parametrize("name", CASES)
def test_forward_and_gradients(name):
    options, inputs = ROWS[name]
    for option in options:
        for dtype, tolerance in TOLERANCE.items():
            modules = [made(t, name, option, dtype).to(getattr(t, dtype)) for t in BOTH]
            for given in inputs:
                what = f"{name}({option})({given}) {dtype}"
                theirs, ours = (outcome(run, t, twin(t, m), given, dtype) for t, m in zip(BOTH, modules))
                same(ours, theirs, tolerance, what)


def hooked(t, module, given):
    """What it answers in eval mode with parameters half as large, and what hooks saw of that."""
    seen = []
    outcome(run, t, module.eval(), given, "float32")  # lazy ones get their parameters
    module.register_forward_pre_hook(lambda m, args: seen.append(len(args)))
    module.register_forward_hook(lambda m, args, result: seen.append(len(flat(result))))
    halves = {k: v.detach() * 0.5 for k, v in module.named_parameters()}
    args = eval(f"({given},)", scope(t, "float32"))
    t.manual_seed(5)
    return outcome(t.func.functional_call, module, halves, args), seen


@pytest.mark.parametrize("name", CASES)
def test_in_eval_mode_with_hooks_and_other_parameters(name):
    options, inputs = ROWS[name]
    for option in options:
        (theirs, their_calls), (ours, our_calls) = (hooked(t, made(t, name, option), inputs[0]) for t in BOTH)
        same(answered(ours), answered(theirs), 2e-5, option)
        assert our_calls == their_calls, option


@pytest.mark.parametrize("name", CASES)
def test_wrong_inputs(name):
    option = ROWS[name][0][0]
    for given in WRONG:
        theirs, ours = (outcome(run, t, made(t, name, option), given, "float32") for t in BOTH)
        if isinstance(theirs, tuple):
            for answer in (ours, theirs):  # of several signatures, those of rushlight are fewer
                assert isinstance(answer, tuple), given
            assert (ours[0], ours[1].split("\n")[0]) == (theirs[0], theirs[1].split("\n")[0]), given
