"""TF32: where it is allowed, float32 factors of products and convolutions keep 10 bits of fraction."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"
matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn


@pytest.fixture(autouse=True)
def _restored():
    yield
    torch.set_float32_matmul_precision("highest")
    cudnn.allow_tf32 = False


def rounded(x):
    """x with 10 bits of fraction, halves away from zero."""
    bits = x.numpy().view(np.uint32) + np.uint32(0x1000) & np.uint32(0xFFFFE000)
    return torch.from_numpy(bits.view(np.float32).copy())


def draw(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed + sum(shape)).standard_normal(shape), dtype=torch.float32)


def error(found, expected):
    return float((found.cpu().double() - expected.double()).abs().max() / expected.abs().max())


SMALL_TILES, LARGE_TILES = (40, 70, 36, 1), (65, 33, 70, 130)  # rows, depth, columns, batch


@pytest.mark.parametrize(
    "size, turned",
    [
        *((SMALL_TILES, turned) for turned in ((False, False), (True, False), (False, True), (True, True))),
        *((LARGE_TILES, turned) for turned in ((True, False), (False, True))),
    ],
)
def test_products_round_their_factors_where_allowed(size, turned):
    rows, depth, cols, batch = size
    a, b = draw(batch, rows, depth), draw(batch, depth, cols)
    a = a.mT.contiguous().mT if turned[0] else a
    b = b.mT.contiguous().mT if turned[1] else b
    whole, short = a.double() @ b.double(), rounded(a).double() @ rounded(b).double()
    assert error(torch.bmm(a.to(DEVICE), b.to(DEVICE)), whole) < 1e-6
    matmul.allow_tf32 = True
    found = torch.bmm(a.to(DEVICE), b.to(DEVICE))
    assert error(found, short) < 1e-6 and 1e-5 < error(found, whole) < 1e-3


def test_doubles_stay_whole():
    matmul.allow_tf32 = True
    a, b = draw(40, 50).double(), draw(50, 40).double()
    assert error(a.to(DEVICE) @ b.to(DEVICE), a @ b) < 1e-14


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_convolutions_and_gradients_round_where_allowed(memory_format):
    x, w, grad = draw(2, 16, 9, 9), draw(24, 16, 3, 3) * 0.1, draw(2, 24, 9, 9)

    def run(device, *tensors):
        x, w, grad = (t.to(device).contiguous(memory_format=memory_format) for t in tensors)
        out = F.conv2d(x.requires_grad_(), w.requires_grad_(), padding=1)
        return [out.detach(), *torch.autograd.grad(out, [x, w], grad)]

    whole = run("cpu", x.double(), w.double(), grad.double())
    short = run("cpu", *(rounded(t).double() for t in (x, w, grad)))
    for found, expected in zip(run(DEVICE, x, w, grad), whole, strict=True):
        assert error(found, expected) < 1e-6
    cudnn.allow_tf32 = True
    for found, expected, exact in zip(run(DEVICE, x, w, grad), short, whole, strict=True):
        assert error(found, expected) < 2e-6 and error(found, exact) > 1e-5


def test_nothing_finite_becomes_nothing_else():
    a = torch.full((20, 20), float("nan"))
    a[:10] = float("inf")
    matmul.allow_tf32 = True
    found = (a.to(DEVICE) @ torch.eye(20).to(DEVICE) * 0 + a.to(DEVICE) @ torch.ones(20, 20).to(DEVICE)).cpu()
    assert torch.isnan(found).all()
    assert torch.isinf((a[:10].to(DEVICE) @ torch.ones(20, 20).to(DEVICE)).cpu()).all()


def test_which_switch_rules():
    a, b = draw(40, 70), draw(70, 36)

    def is_short():
        return error(a.to(DEVICE) @ b.to(DEVICE), a.double() @ b.double()) > 1e-5

    assert not is_short()
    torch.set_float32_matmul_precision("medium")
    assert is_short()
    matmul.fp32_precision = "ieee"
    assert not is_short()
    matmul.fp32_precision = "none"
    torch.backends.fp32_precision = "tf32"
    assert is_short()
    torch.backends.fp32_precision = "none"
    assert not is_short()
