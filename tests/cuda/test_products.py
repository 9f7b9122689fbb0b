"""Products and convolutions beyond one tile: sizes, layouts, parts of the depth, gradients, order of sums."""

import numpy as np
import pytest

import op_samples as samples
import rushlight as torch
import rushlight.nn.functional as F

DEVICES = [f"cuda:{i}" for i in range(min(torch.cuda.device_count(), 2))]
FLOATS = ["float32", "float64", "float16", "bfloat16"]


def draw(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape)
    return torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype))


def assert_close(found, expected, dtype="float32"):
    assert found.shape == expected.shape and str(found.device) != "cpu"
    tolerance = samples.tolerance(dtype)
    np.testing.assert_allclose(found.cpu().double().numpy(), expected.double().numpy(), **tolerance)


def same(function, *tensors, dtype="float32", device=DEVICES[0]):
    found = function(*(t.to(device) for t in tensors))
    expected = function(*tensors)
    assert_close(found, expected, dtype)
    return found


# rows, depth, columns: one over a tile, one under, thin, deep enough for parts, deep with few outputs
SIZES = [(65, 33, 70), (5, 17, 129), (63, 16, 64), (1, 300, 3), (70, 5, 2), (9, 1100, 20), (2, 1030, 1)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows, depth, cols", SIZES)
def test_sizes(rows, depth, cols, dtype):
    scale = depth**-0.5
    same(torch.mm, draw(rows, depth, dtype=dtype) * scale, draw(depth, cols, dtype=dtype), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
def test_transposed_operands(turned, dtype):
    a, b = draw(66, 20, dtype=dtype), draw(20, 67, dtype=dtype)
    a = a.t().contiguous().t() if turned[0] else a
    b = b.t().contiguous().t() if turned[1] else b
    same(torch.mm, a, b, dtype=dtype)


def test_results_go_to_any_strides():
    a, b = draw(66, 20), draw(20, 37)
    for device in DEVICES:
        out = torch.zeros(37, 66, device=device).t()
        torch.mm(a.to(device), b.to(device), out=out)
        assert_close(out, a @ b)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_many_tiles_take_the_large_ones(dtype):
    a, b = draw(128, 65, 9, dtype=dtype), draw(128, 9, 66, dtype=dtype)
    same(torch.bmm, a, b, dtype=dtype)


def test_large_tiles_of_a_convolution():
    x, w = draw(2, 1, 96, 96), draw(65, 1, 3, 3)
    same(lambda x, w: F.conv2d(x, w, padding=1), x, w)


def test_batches_broadcast():
    a, b = draw(3, 1, 17, 20), draw(2, 20, 18)
    same(torch.matmul, a, b)
    same(torch.matmul, draw(2, 1, 3, 1, 2, 4, 5), draw(2, 3, 1, 1, 5, 6))
    same(torch.matmul, draw(2, 3, 5, 6).transpose(0, 2), draw(6, 4))
    same(torch.matmul, draw(6), draw(2, 3, 6, 5))
    same(F.linear, draw(2, 3, 40, 20), draw(35, 20), draw(35))


@pytest.mark.parametrize("shape", [(0, 5, 4), (4, 0, 5), (4, 5, 0)])
def test_empty_sides(shape):
    rows, depth, cols = shape
    same(torch.mm, draw(rows, depth), draw(depth, cols))
    same(lambda x, a, b: torch.addmm(x, a, b, beta=2), draw(cols), draw(rows, depth), draw(depth, cols))


def test_integers_wrap():
    a = torch.arange(12, dtype=torch.int64).reshape(3, 4) + 2**62
    same(torch.mm, a, a.t())
    same(torch.mm, a.to(torch.int8), a.t().to(torch.int8))


def test_beta_of_zero_reads_nothing():
    x = torch.full((20, 30), float("nan"))
    same(lambda x, a, b: torch.addmm(x, a, b, beta=0, alpha=0.5), x, draw(20, 7), draw(7, 30))


def test_an_operand_may_be_the_result():
    x, y = draw(20, 20), draw(20, 20)
    for device in DEVICES:
        moved = x.to(device)
        moved.addmm_(moved, y.to(device), beta=0.5)
        assert_close(moved, 0.5 * x + x @ y)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_infinities_and_nans_stay_in_their_rows(dtype):
    a, b = draw(40, 33, dtype=dtype), draw(33, 40, dtype=dtype)
    a[3, 4], a[7, 1] = float("inf"), float("nan")
    same(torch.mm, a, b, dtype=dtype)


def test_parts_of_the_depth_add_up_in_one_order():
    a, b = draw(10, 3000).to(DEVICES[0]), draw(3000, 12).to(DEVICES[0])
    first = (a @ b).cpu()
    assert all(torch.equal((a @ b).cpu(), first) for _ in range(3))


# function, input, weight, arguments
CONVOLUTIONS = {
    "1-D": (F.conv1d, (2, 5, 90), (7, 5, 4), {"stride": 2, "padding": 3}),
    "2-D": (F.conv2d, (2, 9, 12, 11), (66, 9, 3, 2), {"padding": (1, 2), "dilation": (2, 1)}),
    "2-D without images": (F.conv2d, (3, 9, 8), (6, 3, 3, 3), {"stride": (3, 2)}),
    "groups": (F.conv2d, (2, 12, 6, 7), (18, 4, 3, 3), {"groups": 3, "padding": 1}),
    "depthwise": (F.conv2d, (2, 6, 9, 8), (12, 1, 3, 3), {"groups": 6, "stride": 2, "padding": 1}),
    "3-D": (F.conv3d, (2, 3, 5, 6, 4), (5, 3, 2, 3, 2), {"stride": (1, 2, 1), "padding": 1}),
    "transposed 1-D": (F.conv_transpose1d, (2, 5, 20), (5, 7, 4), {"stride": 3, "output_padding": 2}),
    "transposed 2-D": (
        F.conv_transpose2d,
        (2, 6, 7, 5),
        (6, 10, 3, 4),
        {"stride": 2, "padding": 1, "groups": 2, "dilation": (1, 2)},
    ),
    "transposed 3-D": (F.conv_transpose3d, (1, 4, 3, 4, 3), (4, 5, 2, 3, 3), {"stride": (2, 1, 2)}),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_and_their_gradients(case, dtype):
    function, size, weight, kwargs = CONVOLUTIONS[case]
    outputs = weight[1] * kwargs.get("groups", 1) if "transposed" in case else weight[0]
    tensors = [draw(*size), draw(*weight) * 0.2, draw(outputs)]
    grads = {}
    for device in ["cpu", *DEVICES]:
        leaves = [t.to(getattr(torch, dtype)).to(device).requires_grad_() for t in tensors]
        out = function(*leaves, **kwargs)
        grad = (draw(*out.shape, seed=1) * 0.1).to(getattr(torch, dtype)).to(device)
        grads[device] = [out.detach(), *torch.autograd.grad(out, leaves, grad)]
    for device in DEVICES:
        for found, expected in zip(grads[device], grads["cpu"], strict=True):
            assert_close(found, expected, dtype)


def test_a_deep_gradient_by_the_weight_has_one_order_of_sums():
    x, grad = draw(4, 3, 20, 20), draw(4, 6, 20, 20)
    found = []
    for _ in range(2):
        w = torch.zeros(6, 3, 3, 3, device=DEVICES[0], requires_grad=True)
        out = F.conv2d(x.to(DEVICES[0]), w, padding=1)
        found.append(torch.autograd.grad(out, w, grad.to(DEVICES[0]))[0].cpu())
    w = torch.zeros(6, 3, 3, 3, requires_grad=True)
    expected = torch.autograd.grad(F.conv2d(x, w, padding=1), w, grad)[0]
    assert torch.equal(*found)
    np.testing.assert_allclose(found[0].numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)


def test_channels_last_stays_so():
    def turned(x, w):
        return F.conv2d(x.to(memory_format=torch.channels_last), w, padding=1)

    out = same(turned, draw(2, 8, 6, 5), draw(10, 8, 3, 3))
    assert out.is_contiguous(memory_format=torch.channels_last)
