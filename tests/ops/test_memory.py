"""When memory ends: every operator and the objects around it raise, leak nothing and go on. And deep or
shared structures: freed without recursion, used from many threads."""

import gc
import io
import threading

import numpy as np
import pytest

import op_samples as samples
import rushlight
from helpers import gradients
from rushlight import _C, autograd, nn

from .test_gradients import ONCE

OPERATORS = samples.OPERATORS
MOST = 200  # allocations of one call; far more than any makes
# Composed of views or of calls in place; and the views and calls in place that the table knows as such.
ALLOCATE_NOTHING = {
    *("positive", "conj", "conj_physical", "real", "resolve_conj", "resolve_neg", "adjoint", "broadcast_to"),
    *("movedim", "moveaxis", "reshape", "flatten", "unflatten", "narrow_tensor", "unflatten_dense_tensors"),
    *("chunk", "split", "unbind", "tensor_split", "tensor_split_indices", "split_with_sizes"),
    *("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "float_power_", "relu6_", "copy_number"),
    "fill_diagonal_",
    *(f"{axis}split{kind}" for axis in "hvd" for kind in ("", "_indices")),
    *(f"atleast_{n}d{kind}" for n in (1, 2, 3) for kind in ("", "_each")),
}
ALLOCATE_NOTHING |= {
    name
    for name, entry in OPERATORS.items()
    if entry["kind"] == 1 or (entry["kind"] == 0 and entry["flags"] & samples.ONLY_INPLACE)
}


@pytest.fixture(autouse=True)
def _no_failure_left():
    yield
    _C._fail_alloc(-1)


def grown(before):
    after = _C._live()
    return {kind: after[kind] - before[kind] for kind in before if after[kind] > before[kind]}


def survive(make, call):
    """Runs call(*make()) with the first allocation failing, then the second, ... until none does.

    Returns the result and how many allocations were made to fail.
    """
    gc.collect()
    for n in range(MOST):
        arguments = make()
        before = _C._live()
        _C._fail_alloc(n)
        failed = False
        try:
            result = call(*arguments)
        except (RuntimeError, MemoryError) as error:  # PyTorch's allocator raises RuntimeError
            assert "memory" in str(error) or isinstance(error, MemoryError)
            failed = True
        finally:
            _C._fail_alloc(-1)
        if not failed:
            return result, n
        if grown(before):
            gc.collect()  # objects that know each other
        assert not grown(before), f"the failing allocation {n} leaves something"
    raise AssertionError(f"fails after {MOST} allocations still")


def survived(make, call):
    """The result of survive(), of which at least one allocation failed."""
    result, failed = survive(make, call)
    assert failed, "no allocation failed"
    return result


@pytest.mark.parametrize("name", OPERATORS)
def test_every_row_survives_failing_allocations(name):
    function = samples.function(_C, OPERATORS[name])
    dtype, failed = "float32" if "float32" in samples.admitted(OPERATORS[name]) else "int64", 0
    for sample in samples.of(name):
        if dtype in sample.without:
            dtype = "float64" if "int64" in sample.without else "int64"
        for layout in samples.LAYOUTS[:2]:

            def run(args, kwargs):
                _C.default_generator.manual_seed(3)
                return samples.flat_results(function(*args, **kwargs))

            try:
                expected = run(*sample.build(_C, dtype, layout))
            except RuntimeError as error:  # view of strided memory
                assert name == "view" and "not compatible" in str(error)
                continue
            results, n = survive(lambda: sample.build(_C, dtype, layout), run)  # noqa: B023
            failed += n
            for a, b in zip(results, expected, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype
                if name not in samples.UNINITIALISED:  # packed or not, another kernel may have run
                    np.testing.assert_allclose(
                        samples.as_array(a), samples.as_array(b), **samples.tolerance("float32")
                    )
    assert failed or name in ALLOCATE_NOTHING


def differentiated(name, sample):
    """True when nothing failed."""
    try:
        gradients.derivatives(_C, OPERATORS[name], sample, autograd.grad, second=name not in ONCE)
    except (RuntimeError, MemoryError) as error:
        assert "memory" in str(error) or isinstance(error, MemoryError)
        return False
    return True


def has_derivative(name, sample):
    """Not so where a source is larger than its index."""
    try:
        return differentiated(name, sample)
    except AssertionError:
        return False


def test_derivatives_survive_failing_allocations():
    for name in gradients.NAMES:
        sample = next(sample for sample in samples.of(name) if has_derivative(name, sample))
        before, n, done = _C._live(), 0, False
        while not done:
            _C._fail_alloc(n)
            done = differentiated(name, sample)
            _C._fail_alloc(-1)
            n += 1
        assert n > 1, f"{name}: no allocation failed"
        if grown(before):
            gc.collect()
        assert not grown(before), name


LAYERS = [
    (nn.RNN, {}),
    (nn.RNN, dict(nonlinearity="relu", bidirectional=True)),
    (nn.GRU, dict(num_layers=2)),
    (nn.LSTM, dict(bidirectional=True)),
    (nn.LSTM, dict(proj_size=2)),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layer, options", LAYERS)
def test_second_derivatives_of_recurrent_layers_survive(layer, options, packed):
    net = layer(3, 4, **options)

    def second():
        x = rushlight.ones(2, 2, 3).requires_grad_()
        given = nn.utils.rnn.pack_padded_sequence(x, [2, 1]) if packed else x
        out = net(given)[0]
        total = (out.data if packed else out).square().sum()
        (grad,) = autograd.grad(total, x, create_graph=True)
        return autograd.grad(grad.square().sum(), x)[0]

    second()  # packs the weights, which stay
    failed, before = 0, _C._live()
    for n in range(MOST):  # some failures are no error: weights that are not kept
        _C._fail_alloc(n)
        try:
            second()
        except (RuntimeError, MemoryError) as error:
            assert "memory" in str(error) or isinstance(error, MemoryError)
            failed += 1
        finally:
            _C._fail_alloc(-1)
    gc.collect()
    assert failed > 50 and not grown(before)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rushlight.tensordot(rushlight.zeros(3, 5, 2), rushlight.zeros(1, 1), 2),
        lambda: rushlight.einsum("bij,bkj->bik", rushlight.ones(2, 3, 4), rushlight.ones(2, 1, 1)),
        lambda: nn.functional.bilinear(
            *[rushlight.ones(2, 3)] * 2, rushlight.ones(4, 3, 3), rushlight.ones(4)
        ),
        lambda: rushlight.cumulative_trapezoid(rushlight.ones(3, 4), rushlight.ones(4)),
    ],
)
def test_composites_survive_failing_allocations(call):
    assert survive(tuple, call)[1] > 3


def hollow_load():
    file = io.BytesIO()
    rushlight.save({"a": rushlight.ones(3), "b": rushlight.empty(2, 3, device="meta").t()}, file)
    file.seek(0)
    return (file,)


def hollow_default():
    with rushlight.device("meta"):
        return rushlight.tensor([1.0, 2.0]), rushlight.rand(2)


@pytest.mark.parametrize(
    "make, call",
    [
        (lambda: (rushlight.ones(2, 3),), lambda x: x.to("meta").double() + 1),
        (tuple, lambda: nn.utils.skip_init(nn.Linear, 2, 3)),
        (hollow_load, lambda f: rushlight.load(f, map_location="meta")),
        (tuple, hollow_default),
        (lambda: (rushlight.empty(4, device="meta"),), lambda x: x[[0, 1, 1]].repeat_interleave(2)),
    ],
)
def test_meta_survives_failing_allocations(make, call):
    assert survive(make, call)[1] > 0
    assert rushlight.get_default_device().type == "cpu"


def test_failures_really_happen():
    _, failures = survive(lambda: (_C.ones(1000),), lambda x: x + x)  # none is served by kept blocks
    assert failures >= 1


def test_casts_survive():
    result = survived(
        lambda: (_C.ones((3, 2), dtype=_C.int32), _C.ones((2,), dtype=_C.float64)), lambda a, b: a + b
    )
    assert result.tolist() == [[2.0, 2.0]] * 3


def test_creation_survives():
    for data in (1.5, [[1, 2], [3, 4]], [], [[True], [False]]):
        result = survived(lambda: (data,), _C.tensor)  # noqa: B023
        assert result.tolist() == data


def test_indexing_survives():
    result = survived(lambda: (_C.arange(24).view(2, 3, 4),), lambda x: x[[1, 0], 1, ::2])
    assert result.tolist() == [[16, 18], [4, 6]]


def test_history_survives():
    def make():
        return (_C.ones((2, 2)).requires_grad_(),)

    result = survived(make, lambda x: (x * 2 + 1).sum())
    assert result.requires_grad and result.item() == 12


def test_modules_survive():
    def forward(net, x):
        return net(x)

    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    x = rushlight.ones((1, 1, 6, 6))
    expected = net(x).tolist()
    result = survived(lambda: (net, x), forward)
    np.testing.assert_allclose(result.tolist(), expected, rtol=1e-5)


def test_building_layers_survives():
    layer = survived(lambda: (5, 3), nn.Linear)
    assert tuple(layer.weight.shape) == (3, 5)


def test_long_chains_of_history_are_freed_by_a_loop():
    x = _C.zeros(1).requires_grad_()
    for _ in range(200_000):
        x = x + 1
    assert x.item() == 200_000 and _C._live()["nodes"] >= 200_000
    before = _C._live()["nodes"]
    del x
    assert before - _C._live()["nodes"] >= 200_000


def test_long_chains_of_views_are_freed():
    x = _C.zeros(4)
    for _ in range(200_000):
        x = x.view(4)
    del x


def test_deep_modules_are_freed_by_a_loop():
    net = nn.Module()
    for _ in range(200_000):
        outer = nn.Module()
        outer.inner = net
        net = outer
    del outer, net
    gc.collect()


@pytest.mark.threads
def test_ten_threads_on_shared_tensors():
    """Reads of shared tensors, writes of each thread's own, and failing calls among them."""
    weight, bias = _C.ones((64, 64)), _C.zeros(64)
    wrong = []

    def work(number):
        own = _C.zeros((64, 64))
        for _ in range(100):
            own.add_(1)
            out = _C._nn.linear(own * 0 + number, weight, bias)
            if out[0, 0].item() != 64 * number:
                wrong.append(("linear", number))
            big = _C.full((200, 200), float(number)).sum().item()  # without the GIL
            if big != 40_000 * number:
                wrong.append(("sum", number, big))
            try:
                _C.matmul(own, bias[:3])
                wrong.append(("no error", number))
            except RuntimeError as error:
                if "size mismatch" not in str(error):
                    wrong.append(("text", str(error)))
        if own[3, 3].item() != 100:
            wrong.append(("add_", number))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.threads
def test_ten_threads_on_one_module():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    x = rushlight.ones((2, 8))
    expected, results = net(x).tolist(), []

    def work():
        for _ in range(50):
            results.append(net(x).tolist())

    threads = [threading.Thread(target=work) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 500 and all(r == expected for r in results)
