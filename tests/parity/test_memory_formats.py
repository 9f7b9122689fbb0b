"""Results and gradients lie channels last where PyTorch's do, and hold the same values."""

import pytest
import torch

import rushlight

IMAGES = {
    "conv2d": lambda t, x, w: t.nn.functional.conv2d(x, w),
    "conv2d of a channels-last weight": lambda t, x, w: t.nn.functional.conv2d(x.contiguous(), last(t, w)),
    "conv2d by a point": lambda t, x, w: t.nn.functional.conv2d(x, w[:, :, :1, :1].contiguous(), stride=2),
    "grouped": lambda t, x, w: t.nn.functional.conv2d(x, w[:, :3].contiguous(), groups=2),
    "depthwise": lambda t, x, w: t.nn.functional.conv2d(x, w.reshape(24, 1, 3, 3)[:6], padding=1, groups=6),
    "dilated": lambda t, x, w: t.nn.functional.conv2d(x, w, padding=2, dilation=2),
    "conv_transpose2d": lambda t, x, w: t.nn.functional.conv_transpose2d(
        x, w.transpose(0, 1).contiguous(), stride=2
    ),
    "unbatched": lambda t, x, w: t.nn.functional.conv2d(x[0], w),
    "max_pool2d": lambda t, x, w: t.nn.functional.max_pool2d(x, 3, 2, 1),
    "max_pool2d with indices": lambda t, x, w: t.nn.functional.max_pool2d(x, 2, return_indices=True),
    "avg_pool2d": lambda t, x, w: t.nn.functional.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d": lambda t, x, w: t.nn.functional.adaptive_avg_pool2d(x, (3, 4)),
    "global": lambda t, x, w: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool2d": lambda t, x, w: t.nn.functional.adaptive_max_pool2d(x, 3, return_indices=True),
    "lp_pool2d": lambda t, x, w: t.nn.functional.lp_pool2d(x, 2, 2),
    "nearest": lambda t, x, w: t.nn.functional.interpolate(x, scale_factor=2),
    "bilinear": lambda t, x, w: t.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "area": lambda t, x, w: t.nn.functional.interpolate(x, scale_factor=0.5, mode="area"),
    "batch_norm": lambda t, x, w: t.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda t, x, w: t.nn.functional.group_norm(x, 2),
    "instance_norm": lambda t, x, w: t.nn.functional.instance_norm(x),
    "local_response_norm": lambda t, x, w: t.nn.functional.local_response_norm(x, 2),
    "layer_norm": lambda t, x, w: t.nn.functional.layer_norm(x, (8, 9)),
    "layer_norm of channels": lambda t, x, w: t.nn.functional.layer_norm(x.permute(0, 2, 3, 1), (6,)).permute(
        0, 3, 1, 2
    ),
    "softmax": lambda t, x, w: t.nn.functional.softmax(x, 1),
    "relu6": lambda t, x, w: t.nn.functional.relu6(x),
    "gelu": lambda t, x, w: t.nn.functional.gelu(x),
    "prelu": lambda t, x, w: t.nn.functional.prelu(x, w[0, :, 0, 0].contiguous()),
    "glu": lambda t, x, w: t.nn.functional.glu(x, 1),
    "dropout": lambda t, x, w: t.nn.functional.dropout(x, 0.0),
    "sum with contiguous": lambda t, x, w: x + x.contiguous(),
    "scaled": lambda t, x, w: x * w[0, :, :1, :1],
    "cat": lambda t, x, w: t.cat([x, x * 2], 1),
    "pad": lambda t, x, w: t.nn.functional.pad(x, (1, 2, 1, 0)),
    "roll": lambda t, x, w: x.roll(1, 2),
    "part": lambda t, x, w: x[:, 1:4].relu(),
    "residual": lambda t, x, w: t.relu(t.nn.functional.conv2d(x, w, padding=1) + x[:, :4]),
}
VOLUMES = {
    "conv3d": lambda t, x, w: t.nn.functional.conv3d(x, w),
    "conv_transpose3d": lambda t, x, w: t.nn.functional.conv_transpose3d(x, w.transpose(0, 1).contiguous()),
    "max_pool3d": lambda t, x, w: t.nn.functional.max_pool3d(x, 2),
    "avg_pool3d": lambda t, x, w: t.nn.functional.avg_pool3d(x, 2),
    "adaptive_avg_pool3d": lambda t, x, w: t.nn.functional.adaptive_avg_pool3d(x, 3),
    "adaptive_max_pool3d": lambda t, x, w: t.nn.functional.adaptive_max_pool3d(x, 3, return_indices=True),
    "batch_norm": lambda t, x, w: t.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda t, x, w: t.nn.functional.group_norm(x, 2),
    "relu": lambda t, x, w: x.relu(),
}


def last(t, x):
    return x.to(memory_format=t.channels_last)


def results(t, function, x, weight, memory_format, dtype):
    """Values and formats of the results, and of the gradients of both inputs."""
    dtype = getattr(t, dtype)
    x = t.tensor(x).to(dtype).to(memory_format=getattr(t, memory_format)).requires_grad_()
    weight = t.tensor(weight).to(dtype).requires_grad_()
    out = function(t, x, weight)
    out = out if isinstance(out, tuple) else (out,)
    out[0].square().sum().backward()
    every = [*out, x.grad, *([] if weight.grad is None else [weight.grad])]
    formats = [
        (each.is_contiguous(), each.is_contiguous(memory_format=getattr(t, memory_format)))
        for each in every
        if each.dim() == x.dim()
    ]
    return formats, [each.detach().double().numpy() for each in every]


def compare(function, x, weight, memory_format, dtype):
    ours, values = results(rushlight, function, x, weight, memory_format, dtype)
    theirs, expected = results(torch, function, x, weight, memory_format, dtype)
    assert ours == theirs
    for a, b in zip(values, expected, strict=True):
        assert a.shape == b.shape
        assert abs(a - b).max() <= (1e-10 if dtype == "float64" else 2e-4) * (1 + abs(b).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", IMAGES)
def test_images(name, dtype):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 6, 8, 9).numpy(), torch.randn(4, 6, 3, 3).numpy()
    compare(IMAGES[name], x, weight, "channels_last", dtype)


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 5, 6, 7).numpy(), torch.randn(8, 4, 3, 3, 3).numpy()
    compare(VOLUMES[name], x, weight, "channels_last_3d", "float32")


def test_model():
    """A network in channels_last: its outputs, the gradients of its parameters, and their formats."""

    def run(t):
        nn = t.nn
        t.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 1), nn.Hardswish(),
            nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 5),
        ).to(memory_format=t.channels_last)  # fmt: skip
        seen = []
        for layer in net:
            layer.register_forward_hook(
                lambda m, i, o: (
                    seen.append(o.is_contiguous(memory_format=t.channels_last)) if o.dim() == 4 else None
                )
            )
        x = t.linspace(-1, 1, 2 * 3 * 12 * 12).reshape(2, 3, 12, 12).to(memory_format=t.channels_last)
        net(x).square().sum().backward()
        grads = [p.grad for p in net.parameters()]
        return seen, [(g.stride(), g.numpy()) for g in grads]

    (seen, grads), (seen_there, grads_there) = run(rushlight), run(torch)
    assert seen == seen_there
    for (strides, ours), (strides_there, theirs) in zip(grads, grads_there, strict=True):
        assert strides == strides_there
        assert abs(ours - theirs).max() <= 1e-4 * (1 + abs(theirs).max())
