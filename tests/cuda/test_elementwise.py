"""What the samples of operators do not reach in elementwise kernels: many tiles, odd places in memory, 64-bit
indices, numbers from the CPU, reductions of losses, gradients."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

from .conftest import indices_of_64_bits

DEVICE = "cuda:0"
TILE = 1024


def made(*shape, dtype=torch.float32, seed=1):
    values = np.random.default_rng(seed).normal(size=shape) * 4
    return torch.tensor(values).to(dtype)


def same(ours, expected, rough=False):
    ours = ours.cpu()
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    if rough:
        torch.testing.assert_close(ours, expected, equal_nan=True)
    else:
        assert torch.equal(ours, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.int16, torch.bool])
@pytest.mark.parametrize("n", [1, 255, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_whole_tiles_and_rests(n, dtype):
    a, b = made(n, dtype=dtype), made(n, dtype=dtype, seed=2)
    same(a.to(DEVICE) * b.to(DEVICE), a * b)
    same(a.to(DEVICE) < b.to(DEVICE), a < b)
    same(torch.where(a.to(DEVICE) > 0, a.to(DEVICE), b.to(DEVICE)), torch.where(a > 0, a, b))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_memory_that_no_vector_fits(at, dtype):
    a, b = made(2 * TILE + 9, dtype=dtype), made(2 * TILE + 9, dtype=dtype, seed=2)
    x, y = a.to(DEVICE), b.to(DEVICE)
    same(x[at:] + y[: y.numel() - at], a[at:] + b[: b.numel() - at])
    x[at:].mul_(3)
    a[at:].mul_(3)
    same(x, a)


def test_layouts_of_many_tiles():
    a, b = made(2, 8, 16, 16), made(2, 8, 16, 16, seed=2)
    last = a.to(memory_format=torch.channels_last)
    x, y = last.to(DEVICE).to(memory_format=torch.channels_last), b.to(DEVICE)
    result = x + x
    assert result.is_contiguous(memory_format=torch.channels_last)
    same(result, last + last)
    same(x - y, last - b)
    same(x.transpose(1, 3) * y.transpose(1, 3), last.transpose(1, 3) * b.transpose(1, 3))
    same(x[:, ::2, 1:, ::3].neg(), last[:, ::2, 1:, ::3].neg())


def test_broadcasts_of_many_tiles():
    a, row, column, one = made(40, 60), made(60, seed=2), made(40, 1, seed=3), made(seed=4)
    x = a.to(DEVICE)
    for other in (row, column, one):
        same(x * other.to(DEVICE), a * other)
        same(torch.lerp(x, other.to(DEVICE), other.to(DEVICE)), torch.lerp(a, other, other), rough=True)
    same(column.to(DEVICE) + row.to(DEVICE), column + row)
    same(x + one, a + one)  # which lies on the CPU
    same(x.flatten() * one.to(DEVICE), a.flatten() * one)


def test_numbers_and_dtypes():
    half, whole = made(50, dtype=torch.float16), made(50, dtype=torch.int32)
    same(half.to(DEVICE) * 1.2345678, half * 1.2345678)
    same(whole.to(DEVICE) / 7, whole / 7)
    same(whole.to(DEVICE) + 2.5, whole + 2.5)
    same(half.to(DEVICE) + whole.to(DEVICE), half + whole)
    same(half.to(DEVICE).eq_(half.to(DEVICE)), half.clone().eq_(half))
    same(whole.to(DEVICE).clamp(-2, 3), whole.clamp(-2, 3))
    same(half.to(DEVICE).clamp(min=float("nan")), half.clamp(min=float("nan")), rough=True)
    for exponent in (2, 3, 0.5, -0.5, -1, -2, 1.5):
        same(half.abs().to(DEVICE) ** exponent, half.abs() ** exponent, rough=True)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float16, torch.bfloat16, torch.uint8])
def test_results_of_casts_are_seen_as_written(dtype):
    a = made(30)
    same(a.to(DEVICE).to(dtype) + a.to(DEVICE).abs().to(dtype), a.to(dtype) + a.abs().to(dtype))


def test_refusals_are_those_of_the_cpu():
    whole, half = made(3, dtype=torch.uint8).to(DEVICE), made(3, dtype=torch.float16).to(DEVICE)
    with pytest.raises(RuntimeError, match="must not be a floating point number"):
        torch.add(whole, whole, alpha=1.5)
    with pytest.raises(RuntimeError, match="Boolean alpha"):
        torch.sub(half, half, alpha=True)
    with pytest.raises(RuntimeError, match="negative integer powers"):
        whole.short() ** -1
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        whole.clamp(max=300)


def test_integers_over_zero_end_no_process():
    a, zero = made(30, dtype=torch.int64).to(DEVICE), torch.zeros(30, dtype=torch.int64, device=DEVICE)
    for f in (torch.floor_divide, torch.remainder, torch.fmod):
        assert f(a, zero).shape == (30,)
    least = torch.full((2,), -(2**63), device=DEVICE)
    assert torch.floor_divide(least, -1).tolist() == least.tolist()


LOSSES = {
    "mse": (F.mse_loss, lambda t: t),
    "l1": (F.l1_loss, lambda t: t),
    "smooth_l1": (F.smooth_l1_loss, lambda t: t),
    "huber": (F.huber_loss, lambda t: t),
    "logits": (F.binary_cross_entropy_with_logits, torch.sigmoid),
}


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_many_blocks(name, reduction):
    f, as_target = LOSSES[name]
    grads = []
    for device in ("cpu", DEVICE):
        x = made(5, 1300).to(device).requires_grad_()
        loss = f(x, as_target(made(5, 1300, seed=2)).to(device), reduction=reduction)
        loss.backward()
        grads.append((loss.detach(), x.grad))
    same(grads[1][0], grads[0][0], rough=True)
    same(grads[1][1], grads[0][1], rough=True)


def test_losses_of_odd_shapes():
    def loss(a, b):
        return torch._C._nn.mse_loss(a, b, 1)

    column, row, empty = made(30, 1), made(1, 30, seed=2), made(0, 3)
    same(loss(column.to(DEVICE), row.to(DEVICE)), loss(column, row), rough=True)
    same(loss(column.to(DEVICE), row[0].to(DEVICE)), loss(column, row[0]), rough=True)
    same(loss(empty.to(DEVICE), empty.to(DEVICE)), loss(empty, empty), rough=True)
    wide = made(3, 8, 9, 10).to(memory_format=torch.channels_last)
    same(loss(wide.to(DEVICE), wide.to(DEVICE) * 2), loss(wide, wide * 2), rough=True)


FUNCTIONS = [
    *(F.relu, F.gelu, F.silu, F.elu, F.mish, F.softplus, F.hardswish, F.hardtanh, F.leaky_relu),
    *(torch.sigmoid, torch.tanh, torch.exp, torch.sqrt, torch.rsqrt, torch.log, torch.erf, torch.abs),
    lambda x: x.clamp(0.5, 2) * x / (x + 3) ** 2,
    lambda x: torch.addcmul(x, x, x.sin()) + torch.addcdiv(x, x, x + 1) + torch.lerp(x, x * x, 0.3),
    lambda x: torch.where(x > 1, x * x, torch.log1p(x) / x),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients(f):
    found = []
    for device in ("cpu", DEVICE):
        x = (made(7, 9, dtype=torch.float64).abs() + 0.1).to(device).requires_grad_()
        (grad,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x) if grad.requires_grad else (grad,)
        found.append((grad.detach(), second.detach()))
    for ours, expected in zip(found[1], found[0], strict=True):
        same(ours, expected, rough=True)


def test_tensors_of_several_dims_count_in_64_bits():
    a = torch.arange(600.0).reshape(5, 4, 30)
    x = a.to(f"cuda:{torch.cuda.device_count() - 1}")
    with indices_of_64_bits():
        same(x.transpose(0, 1) * x[1][:, None], a.transpose(0, 1) * a[1][:, None])
        same(x[:, 1:, ::2] < 100, a[:, 1:, ::2] < 100)
        same(x.transpose(0, 1).contiguous(), a.transpose(0, 1))


def test_equal():
    a = made(3, TILE)
    x = a.to(DEVICE)
    other = x.clone()
    assert torch.equal(x, other)
    other[2, TILE - 1] += 1
    assert not torch.equal(x, other)
    assert not torch.equal(x, x.flatten())
    assert torch.equal(x[:0], x[:0])
    assert torch.equal(x.transpose(0, 1), a.transpose(0, 1).contiguous().to(DEVICE))
