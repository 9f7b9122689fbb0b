"""Losses of targets that there are not: heard of by who waits next, and no harm done; CTC."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.nn import functional as F


def asserted():
    return pytest.raises(torch.AcceleratorError, match="device-side assert triggered")


def floats(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def on_gpu(array, **options):
    return torch.tensor(array, device="cuda", **options)


LOSSES = {
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), [0, 5, 2], 5),
    "cross_entropy below": (lambda x, t: F.cross_entropy(x, t), [0, -3, 2], 5),
    "each": (lambda x, t: F.nll_loss(x, t, reduction="none").sum(), [0, 1, 1000000], 5),
    "weighted": (lambda x, t: F.nll_loss(x, t, torch.ones(5, device="cuda")), [9, 1, 4], 5),
    "margin": (lambda x, t: F.multi_margin_loss(x, t), [0, 7, 2], 5),
    "weighted margin": (
        lambda x, t: F.multi_margin_loss(x, t, weight=torch.ones(5, device="cuda")),
        [0, -1, 2],
        5,
    ),
    "labels": (lambda x, t: F.multilabel_margin_loss(x, t), [[0, 1, -1], [8, 0, -1]], 3),
}


@pytest.mark.parametrize("name", LOSSES)
def test_targets_out_of_range(name):
    loss, target, classes = LOSSES[name]
    x = on_gpu(floats(0, len(target), classes), requires_grad=True)
    value = loss(x, on_gpu(target))
    with asserted():
        value.item()
    value.backward()
    with asserted():
        torch.cuda.synchronize()
    assert x.grad.shape == x.shape  # nothing broke
    assert F.cross_entropy(x, on_gpu([0] * len(target))).isfinite().item()


@pytest.mark.parametrize(
    "p, target", [([0.5, 1.5], [0.0, 1.0]), ([0.5, 0.5], [0.0, -1.0]), ([np.nan], [0.0])]
)
def test_probabilities_out_of_range(p, target):
    for reduction in ("none", "mean"):
        loss = F.binary_cross_entropy(on_gpu(p), on_gpu(target), reduction=reduction)
        with asserted():
            torch.cuda.synchronize()
        assert loss.isnan().any().item()


def test_probabilities_at_the_borders():
    p, target = np.array([0.0, 1.0, 0.25]), np.array([0.0, 1.0, 0.5])
    ours = F.binary_cross_entropy(on_gpu(p), on_gpu(target))
    expected = F.binary_cross_entropy(torch.tensor(p), torch.tensor(target))
    np.testing.assert_allclose(ours.item(), expected.item(), rtol=1e-6)
