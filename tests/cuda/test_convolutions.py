"""Convolutions of drawn shapes, layouts and dtypes: results and gradients are those of the CPU."""

import numpy as np
import pytest

import op_samples as samples
import rushlight as torch
import rushlight.nn.functional as F

DEVICES = [f"cuda:{i}" for i in range(min(torch.cuda.device_count(), 2))]
DTYPES = ["float32", "float16", "bfloat16", "float64"]
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def draw(rng, *shape, scale=1.0):
    return torch.tensor(rng.standard_normal(shape) * scale, dtype=torch.float64)


def laid_out(x, layout):
    """x once more, with the same elements at other places."""
    if layout == "channels last" and x.ndim - 2 in LAST:
        return x.contiguous(memory_format=LAST[x.ndim - 2])
    if layout == "every other":
        wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "turned":
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "misaligned":
        flat = torch.zeros(x.numel() + 1, dtype=x.dtype, device=x.device)
        flat[1:] = x.reshape(-1)
        return flat[1:].reshape(x.shape)
    return x


def results(function, tensors, grad, layouts, dtype, device, kwargs):
    placed = [t.to(getattr(torch, dtype)).to(device) for t in tensors]
    placed = [laid_out(t, how) for t, how in zip(placed, layouts, strict=False)] + placed[2:]
    leaves = [t.requires_grad_() for t in placed]
    out = function(*leaves, **kwargs)
    grad = laid_out(grad.to(out.dtype).to(device), layouts[0])
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


def same(function, tensors, layouts, dtype, kwargs, *, device=DEVICES[-1], seed=0):
    out = function(*tensors, **kwargs)
    grad = draw(np.random.default_rng(seed), *out.shape, scale=0.1)
    expected = results(function, tensors, grad, ("", ""), dtype, "cpu", kwargs)
    for ours, theirs in zip(
        results(function, tensors, grad, layouts, dtype, device, kwargs), expected, strict=True
    ):
        assert ours.shape == theirs.shape and ours.device == torch.device(device)
        found, wanted = ours.cpu().double().numpy(), theirs.double().numpy()
        np.testing.assert_allclose(found, wanted, **samples.tolerance(dtype))


def drawn(seed):
    """A convolution: function, tensors, arguments."""
    rng = np.random.default_rng(seed)
    spatial, is_transposed = int(rng.integers(1, 4)), bool(rng.integers(2))
    groups = int(rng.choice([1, 1, 2, 3, 6]))
    each_in, each_out = int(rng.choice([1, 2, 8])), int(rng.choice([1, 2, 5, 8]))
    pick = [tuple(int(n) for n in rng.integers(low, high, spatial)) for low, high in ((1, 4), (1, 3), (0, 3))]
    kernel = tuple(int(n) for n in rng.integers(1, 4, spatial))
    stride, dilation, padding = pick
    kwargs = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
    inside = groups * each_in, groups * each_out
    weight = (inside[0], each_out, *kernel) if is_transposed else (inside[1], each_in, *kernel)
    size = tuple(int(n) for n in rng.integers(6, 9, spatial))
    if is_transposed:
        most = np.maximum(stride, dilation)
        kwargs["output_padding"] = tuple(int(rng.integers(0, n)) for n in most)
    lead = [(2,), (3,), (1,), (0,), ()][int(rng.choice(5, p=[0.4, 0.3, 0.1, 0.1, 0.1]))]
    tensors = [draw(rng, *lead, inside[0], *size), draw(rng, *weight, scale=(each_in * 4) ** -0.5)]
    if rng.integers(2):
        tensors.append(draw(rng, inside[1]))
    name = ("conv_transpose" if is_transposed else "conv") + f"{spatial}d"
    return getattr(F, name), tensors, kwargs


LAYOUTS = [
    ("", ""),
    ("channels last", "channels last"),
    ("every other", "turned"),
    ("misaligned", "misaligned"),
]


@pytest.mark.parametrize("seed", range(64))
def test_drawn_convolutions(seed):
    function, tensors, kwargs = drawn(seed)
    layouts = LAYOUTS[seed % 4] if tensors[0].ndim == tensors[1].ndim else ("", "")
    same(function, tensors, layouts, DTYPES[seed // 4 % 4], kwargs, seed=seed)


# input, weight, arguments: each way of a product takes one of the three of them
WAYS = {
    "strided": ((1, 24, 15, 15), (20, 24, 1, 1), {"stride": 2}),
    "deep": ((1, 40, 5, 5), (10, 40, 3, 3), {}),
    "a few outputs of deep sums": ((3, 70, 4, 4), (2, 70, 4, 4), {}),
    "groups of few": ((2, 12, 9, 9), (12, 3, 3, 3), {"groups": 4}),
    "channels of whole vectors": ((2, 32, 7, 9), (40, 32, 3, 3), {"padding": 1, "stride": (1, 2)}),
    "groups of whole vectors": ((2, 32, 7, 7), (48, 16, 3, 3), {"padding": 1, "groups": 2}),
    "points": ((2, 24, 9, 9), (72, 24, 1, 1), {}),
}


@pytest.mark.parametrize("layout", ["", "channels last"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", WAYS)
def test_ways(case, dtype, layout):
    size, weight, kwargs = WAYS[case]
    rng = np.random.default_rng(len(case))
    scale = float(np.prod(weight[1:])) ** -0.5
    tensors = [draw(rng, *size), draw(rng, *weight, scale=scale), draw(rng, weight[0])]
    same(F.conv2d, tensors, (layout, layout), dtype, kwargs)


@pytest.mark.parametrize("layout", ["", "channels last"])
def test_large_tiles(layout):
    rng = np.random.default_rng(0)
    x, w = draw(rng, 2, 8, 91, 91).half(), draw(rng, 66, 8, 1, 2, scale=0.3).half()
    found = F.conv2d(laid_out(x.to(DEVICES[0]), layout), laid_out(w.to(DEVICES[0]), layout), padding=(0, 1))
    expected = F.conv2d(x, w, padding=(0, 1)).double().numpy()
    np.testing.assert_allclose(found.cpu().double().numpy(), expected, **samples.tolerance("float16"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("multiplier, stride, dilation", [(1, 1, 1), (2, 2, 1), (3, 1, 2), (9, 2, 1)])
@pytest.mark.parametrize("layout", ["", "channels last"])
def test_groups_of_one_channel(layout, multiplier, stride, dilation, dtype):
    rng = np.random.default_rng(stride)
    channels, kwargs = 5, {"groups": 5, "padding": (1, 2), "stride": stride, "dilation": dilation}
    tensors = [draw(rng, 3, channels, 9, 11), draw(rng, channels * multiplier, 1, 3, 2, scale=0.3)]
    tensors.append(draw(rng, channels * multiplier))
    same(F.conv2d, tensors, (layout, layout), dtype, kwargs)


def test_a_weight_of_one_channel_is_summed_by_a_whole_block():
    x, w = draw(np.random.default_rng(1), 4, 2, 30, 31), draw(np.random.default_rng(2), 2, 1, 3, 3)
    same(F.conv2d, [x, w], ("", ""), "float32", {"groups": 2, "padding": 1})


def test_infinities_outside_of_the_window_are_not_read():
    x = torch.ones(1, 2, 6, 6)
    x[..., 0] = float("inf")
    w = torch.ones(6, 2, 3, 3)
    found = F.conv2d(x.to(DEVICES[0]), w.to(DEVICES[0])).cpu()
    assert torch.isfinite(found[..., 1:]).all() and torch.isinf(found[..., 0]).all()
