"""Equal calls give equal bits with deterministic algorithms, in whatever order threads take turns."""

import os

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = f"cuda:{min(torch.cuda.device_count(), 2) - 1}"
SEEDS = 4


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def mixed(*shape):
    """Numbers of very different sizes, whose sums depend on their order."""
    return torch.randn(shape) * 10.0 ** torch.randint(-3, 4, shape).float()


def results(call, *inputs):
    """What call() answers, bit by bit, in several orders of threads."""
    there = [x.to(DEVICE) for x in inputs]
    found = []
    for seed in range(SEEDS):
        if os.environ.get("RUSHLIGHT_CUDA_SIM"):
            from rushlight import _cuda_sim

            _cuda_sim.seed(seed + 1)
        found.append(call(*there).cpu())
    return found


def gradient(function):
    """function's gradient by its first argument; the second is the gradient of what it answers."""

    def call(x, grad, *rest):
        x = x.detach().requires_grad_()
        function(x, *rest).backward(grad)
        return x.grad

    return call


def many(n, *shape):
    return torch.randint(n, shape)


def zeros(*shape, **kwargs):
    return torch.zeros(*shape, device=DEVICE, **kwargs)


def grid(*shape):
    return torch.rand(*shape) * 2.4 - 1.2


CASES = {
    "scatter_add": (lambda i, v: zeros(5).scatter_add(0, i, v), many(5, 900), mixed(900)),
    "scatter_add of halves": (
        lambda i, v: zeros(5).half().scatter_add(0, i, v.half()),
        many(5, 300),
        mixed(300),
    ),
    "scatter_add of rows": (lambda i, v: zeros(4, 9).scatter_add(0, i, v), many(4, 50, 9), mixed(50, 9)),
    "scatter_reduce": (lambda i, v: zeros(5).scatter_reduce(0, i, v, "sum"), many(5, 900), mixed(900)),
    "mean": (
        lambda i, v: zeros(5).scatter_reduce(0, i, v, "mean", include_self=False),
        many(5, 900),
        mixed(900),
    ),
    "product": (
        lambda i, v: (zeros(9) + 1).scatter_reduce(0, i, v, "prod"),
        many(9, 200),
        torch.rand(200) + 0.5,
    ),
    "index_add": (lambda i, v: zeros(4, 7).index_add(0, i, v, alpha=0.3), many(4, 200), mixed(200, 7)),
    "index_add across": (lambda i, v: zeros(7, 4).index_add(1, i, v), many(4, 200), mixed(7, 200)),
    "index_reduce": (lambda i, v: zeros(4, 7).index_reduce(0, i, v, "mean"), many(4, 200), mixed(200, 7)),
    "index_put": (lambda i, v: zeros(4, 7).index_put((i,), v, True), many(4, 200), mixed(200, 7)),
    "index_put of places": (
        lambda i, j, v: zeros(4, 5, 3).index_put((i, j), v, True),
        many(4, 200),
        many(5, 200),
        mixed(200, 3),
    ),
    "put": (lambda i, v: zeros(6).put_(i, v, True), many(6, 500), mixed(500)),
    "bincount": (lambda i, v: torch.bincount(i, v), many(6, 500), mixed(500)),
    "histogram": (
        lambda x, v: torch.histogram(x, zeros(5) + torch.arange(5.0, device=DEVICE), weight=v).hist,
        torch.rand(500) * 5,
        mixed(500),
    ),
    "indexing's gradient": (gradient(lambda x, i: x[i]), mixed(4, 7), mixed(200, 7), many(4, 200)),
    "gather's": (gradient(lambda x, i: x.gather(0, i)), mixed(4, 7), mixed(90, 7), many(4, 90, 7)),
    "index_select's": (gradient(lambda x, i: x.index_select(1, i)), mixed(3, 4), mixed(3, 90), many(4, 90)),
    "take's": (gradient(torch.take), mixed(4, 7), mixed(300), many(28, 300)),
    "embedding's": (gradient(lambda x, i: F.embedding(i, x)), mixed(4, 7), mixed(200, 7), many(4, 200)),
    "embedding's of halves": (
        gradient(lambda x, i: F.embedding(i, x)),
        mixed(4, 7).half(),
        mixed(200, 7).half(),
        many(4, 200),
    ),
    "embedding_bag's": (
        gradient(lambda x, i: F.embedding_bag(i, x, mode="mean")),
        mixed(4, 7),
        mixed(50, 7),
        many(4, 50, 6),
    ),
    "the largest of bags'": (
        gradient(lambda x, i: F.embedding_bag(i, x, mode="max")),
        mixed(4, 7),
        mixed(90, 7),
        many(4, 90, 3),
    ),
    "as_strided's": (gradient(lambda x: x.as_strided((400, 8), (1, 1), 2)), mixed(410), mixed(400, 8)),
    "expand's": (gradient(lambda x: x.expand(90, 5)), mixed(5), mixed(90, 5)),
    "repeat_interleave's": (gradient(lambda x: x.repeat_interleave(60)), mixed(5), mixed(300)),
    "grid_sample's": (
        gradient(lambda x, g: F.grid_sample(x, g, align_corners=False)),
        mixed(2, 3, 3, 4),
        mixed(2, 3, 25, 25),
        grid(2, 25, 25, 2),
    ),
    "bicubic grid_sample's": (
        gradient(lambda x, g: F.grid_sample(x, g, "bicubic", "border", True)),
        mixed(1, 2, 4, 4),
        mixed(1, 2, 30, 30),
        grid(1, 30, 30, 2),
    ),
    "volumes' grid_sample's": (
        gradient(lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=True)),
        mixed(1, 2, 2, 3, 3),
        mixed(1, 2, 9, 9, 9),
        grid(1, 9, 9, 9, 3),
    ),
    "fractional_max_pool's": (
        gradient(lambda x, s: F.fractional_max_pool2d(x, 3, output_size=(50, 50), _random_samples=s)),
        mixed(1, 2, 52, 52).abs() * torch.eye(52),
        mixed(1, 2, 50, 50),
        torch.rand(1, 2, 2),
    ),
    "max_pool's": (gradient(lambda x: F.max_pool2d(x, 3, 1)), mixed(1, 2, 8, 8), mixed(1, 2, 6, 6)),
    "avg_pool's": (gradient(lambda x: F.avg_pool2d(x, 3, 1)), mixed(1, 2, 8, 8), mixed(1, 2, 6, 6)),
    "adaptive_max_pool's": (
        gradient(lambda x: F.adaptive_max_pool2d(x, 5)),
        mixed(1, 2, 8, 8),
        mixed(1, 2, 5, 5),
    ),
    "interpolate's": (
        gradient(lambda x: F.interpolate(x, (9, 11), mode="bilinear")),
        mixed(1, 2, 4, 4),
        mixed(1, 2, 9, 11),
    ),
    "reflection's": (gradient(lambda x: F.pad(x, (3, 3), "reflect")), mixed(2, 5), mixed(2, 11)),
    "fold": (lambda x: F.fold(x, (6, 6), 3), mixed(2, 9, 16)),
    "cumsum": (lambda x: x.cumsum(0), mixed(3000)),
    "sum": (lambda x: x.sum(), mixed(70, 90)),
    "layer_norm's": (
        gradient(lambda w, x: F.layer_norm(x, (40,), w)),
        mixed(40),
        mixed(60, 40),
        mixed(60, 40),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_calls_give_equal_bits(name, deterministic):
    call, *inputs = CASES[name]
    first, *others = results(call, *inputs)
    assert first.isfinite().all()
    for other in others:
        assert torch.equal(first, other)


def test_atomics_add_in_any_order():
    call, *inputs = CASES["scatter_add"]
    first, *others = results(call, *inputs)
    assert any(not torch.equal(first, other) for other in others)


@pytest.mark.parametrize("name", CASES)
def test_the_order_changes_little(name, deterministic):
    call, *inputs = CASES[name]
    ordered = call(*(x.to(DEVICE) for x in inputs))
    torch.use_deterministic_algorithms(False)
    atomic = call(*(x.to(DEVICE) for x in inputs))
    largest = float(max(x.abs().max() for x in inputs if x.is_floating_point()))
    rough = 3e-2 if ordered.dtype == torch.float16 else 1e-4
    assert torch.allclose(ordered, atomic, rtol=rough, atol=rough * largest)


def test_elements_that_share_memory(deterministic):
    index, values = torch.tensor([0, 2, 2, 1]), torch.randn(4, 3)
    line = torch.zeros(5, device=DEVICE)
    line.as_strided((3, 3), (1, 1)).index_add_(0, index.to(DEVICE), values.to(DEVICE))
    expected = torch.zeros(5)
    for i, row in zip(index.tolist(), values, strict=True):
        expected[i : i + 3] += row
    assert torch.allclose(line.cpu(), expected, atol=1e-5)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 1000])
@pytest.mark.parametrize("targets", [1, 3, 2000])
def test_pieces_of_any_size(n, targets, deterministic):
    index, values = torch.randint(targets, (n,)), torch.randn(n, 2)
    ours = torch.zeros(targets, 2, device=DEVICE).index_add(0, index.to(DEVICE), values.to(DEVICE))
    assert torch.allclose(ours.cpu(), torch.zeros(targets, 2).index_add(0, index, values), atol=1e-4)


def test_an_index_out_of_range_is_still_said(deterministic):
    for wrong in (-1, 5, 2**63 - 1, -(2**63)):
        torch.zeros(5, device=DEVICE).index_add(0, torch.tensor([1, wrong], device=DEVICE), zeros(2) + 1)
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            torch.cuda.synchronize(DEVICE)
