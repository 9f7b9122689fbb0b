"""Reductions, scans, softmax and norms of sizes that samples do not reach: several blocks, long lines."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = "cuda:0"


def both(function, *tensors):
    """The answers on the CPU and on the device, as lists."""
    results = []
    for device in ("cpu", DEVICE):
        found = function(*(x.to(device) for x in tensors))
        results.append([r.cpu() for r in (found if isinstance(found, tuple) else (found,))])
    return results


def assert_same(function, *tensors, rtol=1e-4, atol=1e-4):
    for expected, found in zip(*both(function, *tensors), strict=True):
        assert found.dtype == expected.dtype
        assert torch.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)


def gradients(function):
    """What flows back to each input, from a gradient that differs by place."""

    def run(*tensors):
        leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in tensors]
        y = function(*leaves)
        y.backward(torch.linspace(-1, 1, y.numel()).reshape(y.shape).to(y.device))
        return (y.detach(), *(x.grad for x in leaves if x.grad is not None))

    return run


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


REDUCTIONS = {
    "sum": lambda x, dim: x.sum(dim),
    "prod": lambda x, dim: (1 + x * 1e-3).prod(dim),
    "mean": lambda x, dim: x.mean(dim),
    "amax": lambda x, dim: x.amax(dim),
    "argmin": lambda x, dim: x.argmin(dim),
    "var_mean": lambda x, dim: torch.var_mean(x, dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "norm": lambda x, dim: torch.linalg.vector_norm(x, 3, dim),
    "count": lambda x, dim: (x > 0).count_nonzero(dim),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "shape, dim",
    [((40000,), 0), ((20011, 3), 0), ((3, 20011), 1), ((130, 300), 1), ((300, 130), 0), ((1030, 2), 1)],
)
def test_rows_and_columns_of_any_length(name, shape, dim):
    assert_same(lambda x: REDUCTIONS[name](x, dim), numbers(*shape))


def test_parts_of_a_split_reduction_are_joined_in_one_order():
    x = numbers(70000).to(DEVICE)
    assert len({x.sum().item() for _ in range(3)}) == 1


def test_first_of_equals_wins_across_blocks():
    x = torch.zeros(50000)
    x[[123, 20001, 49999]] = 1.0
    assert x.to(DEVICE).argmax().item() == 123
    x[[40000, 30000]] = float("nan")
    assert x.to(DEVICE).argmax().item() == 30000
    values, places = x.to(DEVICE).reshape(2, -1).max(1)
    assert places.cpu().tolist() == [123, 5000] and values[0].item() == 1


def test_dims_of_a_permuted_tensor():
    x = numbers(6, 7, 8, 9).permute(2, 0, 3, 1)
    for dims in [(0,), (1, 3), (0, 2), (0, 1, 2, 3)]:
        assert_same(lambda x, dims=dims: x.sum(dims), x)
        assert_same(lambda x, dims=dims: x.amin(dims), x)
    assert_same(lambda x: x.argmax(), x)


@pytest.mark.parametrize("shape, dim", [((3, 20), 1), ((2, 1500), 1), ((1, 17000), 1), ((40, 300), 0)])
def test_lines_of_softmax(shape, dim):
    x = numbers(*shape)
    assert_same(gradients(lambda x: F.softmax(x, dim)), x)
    assert_same(gradients(lambda x: F.log_softmax(x, dim)), x)


@pytest.mark.parametrize("shape, dim", [((3, 20), 1), ((2, 1500), 1), ((1, 17000), 1), ((40, 300), 0)])
def test_lines_of_scans(shape, dim):
    x = numbers(*shape)
    assert_same(lambda x: x.cumsum(dim), x, atol=2e-3)
    assert_same(lambda x: x.logcumsumexp(dim), x)
    assert_same(lambda x: x.cummax(dim), x)
    assert_same(lambda x: x.mul(1000).long().cumsum(dim), x, rtol=0, atol=0)


def test_cross_entropy_over_blocks():
    x, target = numbers(700, 5), torch.arange(700) % 5
    weight = torch.tensor([0.5, 1.0, 2.0, 1.5, 1.0])
    for options in [
        {},
        {"ignore_index": 2},
        {"label_smoothing": 0.1},
        {"reduction": "sum"},
        {"reduction": "none"},
    ]:
        assert_same(
            gradients(lambda x, t, w, o=options: F.cross_entropy(x, t, w.detach(), **o)), x, target, weight
        )


NORMS = {
    "batch_norm": ((9, 5, 6, 7), lambda x, w, b: F.batch_norm(x, None, None, w, b, True), 5),
    "layer_norm": ((6, 5, 300), lambda x, w, b: F.layer_norm(x, (300,), w, b), 300),
    "group_norm": ((3, 6, 40), lambda x, w, b: F.group_norm(x, 2, w, b), 6),
    "instance_norm": ((3, 6, 40), lambda x, w, b: F.instance_norm(x, weight=w, bias=b), 6),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_and_their_gradients(name):
    shape, function, n = NORMS[name]
    assert_same(gradients(function), numbers(*shape), numbers(n, seed=1), numbers(n, seed=2), atol=1e-3)


def test_statistics_of_batches_run():
    x = numbers(8, 3, 5)
    kept = {}
    for device in ("cpu", DEVICE):
        norm = torch.nn.BatchNorm1d(3).to(device)
        for _ in range(3):
            y = norm(x.to(device))
        norm.eval()
        z = norm(x.to(device))
        kept[device] = [t.detach().cpu() for t in (norm.running_mean, norm.running_var, y, z)]
    for expected, found in zip(*kept.values(), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)
