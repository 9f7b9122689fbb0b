"""Layers with state, randomness or tables, trained for two steps beside real PyTorch: outputs, gradients of
inputs and parameters, gradients of those, and what the layers keep."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

# layer, the input's sizes (a list: indices for an Embedding of 6 rows)
LAYERS = [
    *(
        (f"BatchNorm{n}d(3{options})", sizes)
        for n, sizes in ((1, (4, 3)), (1, (4, 3, 5)), (2, (2, 3, 4, 3)), (3, (2, 3, 2, 2, 3)))
        for options in ("", ", affine=False", ", track_running_stats=False", ", momentum=None", ", eps=0.1")
    ),
    ("BatchNorm2d(3).eval()", (2, 3, 4, 3)),
    ("BatchNorm2d(3, affine=False).eval()", (2, 3, 4, 3)),
    ("BatchNorm2d(3, track_running_stats=False).eval()", (2, 3, 4, 3)),
    ("LayerNorm(5)", (4, 5)),
    ("LayerNorm((3, 5))", (2, 3, 5)),
    ("LayerNorm((3, 5), bias=False)", (2, 3, 5)),
    ("LayerNorm(5, elementwise_affine=False, eps=0.1)", (2, 3, 5)),
    ("LayerNorm(5)", (5,)),
    ("GroupNorm(2, 4)", (3, 4, 5)),
    ("GroupNorm(4, 4)", (3, 4, 2, 3)),
    ("GroupNorm(1, 4, affine=False)", (3, 4, 2, 3)),
    ("GroupNorm(2, 4)", (3, 4)),
    ("RMSNorm(5)", (2, 3, 5)),
    ("RMSNorm((3, 5), eps=0.1)", (2, 3, 5)),
    ("RMSNorm(5, elementwise_affine=False)", (2, 3, 5)),
    ("InstanceNorm1d(3)", (2, 3, 5)),
    ("InstanceNorm2d(3, affine=True)", (2, 3, 4, 3)),
    ("InstanceNorm2d(3, affine=True, track_running_stats=True)", (2, 3, 4, 3)),
    ("InstanceNorm2d(3, affine=True, track_running_stats=True).eval()", (2, 3, 4, 3)),
    ("Embedding(6, 4)", [1, 0, 5, 1, 1]),
    ("Embedding(6, 4, padding_idx=1)", [[1, 0], [5, 1]]),
    ("Embedding(6, 4, padding_idx=-1)", [[1, 0], [5, 1]]),
    ("Embedding(6, 4, scale_grad_by_freq=True)", [1, 0, 5, 1, 1]),
    ("Embedding(6, 4, padding_idx=1, scale_grad_by_freq=True)", [1, 0, 5, 1, 0]),
    ("Upsample(scale_factor=2)", (2, 3, 4, 3)),
    ("Upsample(size=(5, 7))", (2, 3, 4, 3)),
    ("Upsample(size=(3, 2))", (2, 3, 4, 3)),
    ("Upsample(scale_factor=1.7, mode='bilinear')", (2, 3, 4, 3)),
    ("Upsample(scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)", (2, 3, 4, 3)),
    ("Upsample(size=(3, 7), mode='bilinear', align_corners=True)", (2, 3, 4, 3)),
    ("Upsample(scale_factor=2, mode='bilinear')", (2, 3, 4, 1)),
    *(
        (f"{name}({p})", (2, 3, 4, 3))
        for name in ("Dropout", "Dropout2d", "AlphaDropout")
        for p in (0.3, 0.0, 1.0)
    ),
    ("Dropout(0.5).eval()", (4, 5)),
    ("Dropout(0.5, inplace=True)", (4, 5)),
    ("Dropout1d(0.5)", (4, 3, 5)),
    ("Dropout3d(0.5)", (2, 3, 2, 2, 3)),
    ("FeatureAlphaDropout(0.5)", (4, 3, 5)),
    ("ReflectionPad1d((2, 1))", (2, 3, 5)),
    ("ReflectionPad2d((2, 1, 3, 0))", (2, 3, 4, 3)),
    ("ReplicationPad2d((2, 1, 3, 0))", (2, 3, 4, 3)),
    ("ReplicationPad3d(1)", (2, 3, 2, 2, 3)),
    ("CircularPad2d((2, 1, 3, 0))", (2, 3, 4, 3)),
    ("ConstantPad2d((2, -1, 3, 0), 0.5)", (2, 3, 4, 3)),
    ("ZeroPad1d(2)", (2, 3, 5)),
    ("AvgPool1d(3, 2, 1)", (2, 3, 7)),
    ("AvgPool2d(3, 2, 1, count_include_pad=False)", (2, 3, 7, 6)),
    ("AvgPool2d((3, 2), ceil_mode=True)", (2, 3, 7, 5)),
    ("AvgPool3d(2, divisor_override=3)", (2, 3, 4, 3, 2)),
    ("AdaptiveAvgPool1d(3)", (2, 3, 7)),
    ("AdaptiveAvgPool2d(1)", (2, 3, 7, 5)),
    ("AdaptiveAvgPool2d((None, 3))", (2, 3, 7, 5)),
    ("AdaptiveAvgPool3d((2, 1, 3))", (2, 3, 4, 3, 5)),
    ("PixelShuffle(2)", (2, 4, 3, 2)),
    ("PixelUnshuffle(2)", (2, 3, 4, 2)),
]


def given(t, sizes, seed):
    if isinstance(sizes, list):
        return t.tensor(sizes)
    values = np.random.default_rng(seed).uniform(-2, 2, sizes)
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def train(t, layer, sizes):
    """Everything that two steps of training show."""
    module = eval(f"t.nn.{layer}", {"t": t}).double()
    with t.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(given(t, tuple(parameter.shape), 10 + i))
    seen = []
    t.manual_seed(4)
    for step in range(2):
        x = given(t, sizes, step)
        leaves = [v for v in (x, *module.parameters()) if v.requires_grad]
        out = module(x * 1 if x.requires_grad else x)
        name = out.grad_fn.name()
        first = t.autograd.grad((out * out * out.detach().cos()).sum(), leaves, create_graph=True)
        wanted = [g for g in first if g.requires_grad]
        second = t.autograd.grad(sum((g * g).sum() for g in wanted), leaves, allow_unused=True)
        seen += [name, out, *first, *second]
        with t.no_grad():
            for parameter, g in zip(
                module.parameters(), first[-len(list(module.parameters())) :], strict=False
            ):
                parameter -= 0.1 * g
    return [*seen, *module.state_dict().values()]


@pytest.mark.parametrize(("layer", "sizes"), LAYERS, ids=str)
def test_trained(layer, sizes):
    ours, theirs = train(rushlight, layer, sizes), train(torch, layer, sizes)
    for got, expected in itertools.zip_longest(ours, theirs):
        if got is None or expected is None or isinstance(got, str):
            assert got == expected
            continue
        assert (tuple(got.shape), str(got.dtype)) == (tuple(expected.shape), str(expected.dtype))
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "layer", ["BatchNorm1d(4)", "LayerNorm(4)", "GroupNorm(2, 4)", "RMSNorm(4)", "Dropout(0.4)"]
)
def test_lesser_dtypes(layer, dtype):
    def gradients(t):
        module = eval(f"t.nn.{layer}", {"t": t}).to(getattr(t, dtype))
        x = given(t, (6, 4), 1).detach().to(getattr(t, dtype)).requires_grad_()
        t.manual_seed(2)
        module(x).square().sum().backward()
        return [v.grad for v in (x, *module.parameters())]

    tolerance = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 2e-5}[dtype]
    for got, expected in zip(gradients(rushlight), gradients(torch), strict=True):
        assert str(got.dtype) == str(expected.dtype)
        np.testing.assert_allclose(
            got.float().numpy(), expected.float().numpy(), rtol=tolerance, atol=tolerance
        )


def test_statistics_may_change_before_the_gradient_is_asked_for():
    """As a discriminator's do, which sees two batches before its step."""

    def gradients(t):
        norm, x = t.nn.BatchNorm1d(3), given(t, (5, 3), 0).detach().float().requires_grad_()
        total = norm(x).pow(3).sum() + norm(x * 2).pow(3).sum()
        total.backward()
        return [x.grad, norm.weight.grad, norm.running_mean]

    for got, expected in zip(gradients(rushlight), gradients(torch), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)
