"""Pooling, resizing, sampling and folding on a device: what samples do not reach."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"
CALLS = {
    "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 19, 34)),
    "max_pool, dilated": (lambda x: F.max_pool2d(x, 3, 1, 1, 2), (1, 2, 19, 34)),
    "max_pool of volumes": (lambda x: F.max_pool3d(x, 2, 2, 1), (1, 2, 7, 9, 11)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), (2, 3, 18, 33)),
    "avg_pool, padding not counted": (lambda x: F.avg_pool1d(x, 5, 3, 2, False, False), (3, 2, 301)),
    "avg_pool, a divisor": (lambda x: F.avg_pool2d(x, 3, divisor_override=2), (2, 3, 18, 33)),
    "adaptive_avg_pool": (lambda x: F.adaptive_avg_pool2d(x, (5, 7)), (2, 3, 18, 33)),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, (5, 7)), (2, 3, 18, 33)),
    "products beyond 32 bits": (lambda x: F.adaptive_avg_pool1d(x, 66000), (1, 1, 66100)),
    "nearest": (lambda x: F.interpolate(x, size=(31, 17)), (1, 2, 18, 33)),
    "nearest-exact": (lambda x: F.interpolate(x, size=(7, 50), mode="nearest-exact"), (1, 2, 18, 33)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), (1, 2, 18, 23)),
    "corners": (
        lambda x: F.interpolate(x, size=(9, 40), mode="bilinear", align_corners=True),
        (1, 2, 18, 23),
    ),
    "bicubic": (lambda x: F.interpolate(x, size=(9, 40), mode="bicubic"), (1, 2, 18, 23)),
    "antialiased": (
        lambda x: F.interpolate(x, size=(5, 7), mode="bicubic", antialias=True),
        (1, 2, 40, 31),
    ),
    "trilinear": (lambda x: F.interpolate(x, size=(5, 9, 3), mode="trilinear"), (1, 2, 4, 7, 8)),
    "unfold": (lambda x: F.unfold(x, (3, 2), 2, 1, (2, 3)), (2, 3, 18, 17)),
    "fold": (lambda x: F.fold(x, (18, 17), (3, 2), 1, 0, (1, 3)), (2, 12, 96)),
    "pixel by pixel": (lambda x: F.interpolate(x, size=(1, 1), mode="bilinear"), (1, 300, 3, 2)),
}


def with_gradient(run, x):
    x = x.detach().requires_grad_()
    y = run(x)
    y.backward(torch.linspace(-1, 1, y.numel()).reshape(y.shape).to(y.device))
    return y.detach().cpu(), x.grad.cpu()


def pairs(name, *, last=False):
    run, shape = CALLS[name]
    torch.manual_seed(1)
    x = torch.randn(shape)
    if last:
        x = x.to(memory_format=torch.channels_last)
    return zip(with_gradient(run, x.to(DEVICE)), with_gradient(run, x), strict=True)


@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients_are_those_of_the_cpu(name):
    for ours, expected in pairs(name):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "adaptive_avg_pool", "bilinear", "nearest"])
def test_channels_last(name):
    for ours, expected in pairs(name, last=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_with_gradients(mode, padding):
    torch.manual_seed(2)
    x, theta = torch.randn(2, 3, 7, 9), torch.randn(2, 2, 3)

    def run(device):
        at = [t.to(device).detach().requires_grad_() for t in (x, theta)]
        grid = F.affine_grid(at[1], [2, 3, 11, 13], align_corners=False)
        y = F.grid_sample(at[0], grid, mode=mode, padding_mode=padding, align_corners=False)
        (y * y).sum().backward()
        return [y, *(t.grad for t in at)]

    for ours, expected in zip(run(DEVICE), run("cpu"), strict=True):
        torch.testing.assert_close(ours.cpu(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("dims, mode", [(2, "bicubic"), (2, "bilinear"), (3, "bilinear"), (3, "nearest")])
def test_grid_sample_at_far_and_odd_places(dims, mode, corners, padding):
    torch.manual_seed(3)
    x = torch.randn(1, 2, *(5, 4, 3)[:dims])
    grid = (4 * torch.randn(40, dims)).reshape(1, *(4, 10) if dims == 2 else (2, 4, 5), dims)
    places = grid.clone()
    places.view(-1)[:4] = torch.tensor([float("nan"), float("inf"), -1.0, 1.0])

    def run(device):
        at = [t.to(device).detach().requires_grad_() for t in (x, grid)]
        y = F.grid_sample(*at, mode=mode, padding_mode=padding, align_corners=corners)
        odd = F.grid_sample(at[0], places.to(device), mode, padding, corners)
        y.sum().backward()
        return [y, odd, at[0].grad, at[1].grad]

    for ours, expected in zip(run(DEVICE), run("cpu"), strict=True):
        torch.testing.assert_close(ours.cpu(), expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_of_equal_indices_the_last_wins():
    x = torch.arange(1.0, 301).reshape(1, 1, 300, 1)
    indices = torch.arange(300).reshape(1, 1, 300, 1) // 3
    expected = F.max_unpool2d(x, indices, 1, output_size=(300, 1))
    for _ in range(3):
        ours = F.max_unpool2d(x.to(DEVICE), indices.to(DEVICE), 1, output_size=(300, 1))
        assert torch.equal(ours.cpu(), expected)
