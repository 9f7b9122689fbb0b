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


# ---- CTC ----
def ctc(device, targets, lengths, times, blank=0, zero_infinity=False, examples=4, seed=1):
    logits = torch.tensor(floats(seed, 12, examples, 6), device=device, dtype=torch.float64)
    logits.requires_grad_()
    losses = F.ctc_loss(
        logits.log_softmax(2),
        torch.tensor(targets).to(device),
        tuple(times),
        tuple(lengths),
        blank,
        "none",
        zero_infinity,
    )
    (losses * torch.arange(1, examples + 1, device=device)).sum().backward()
    return losses.detach().cpu().numpy(), logits.grad.cpu().numpy()


LABELS = [[1, 2, 2, 3, 1], [4, 4, 4, 4, 5], [5, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
CTC = {
    "padded": (LABELS, [5, 5, 2, 1], [12, 12, 9, 12], {}),
    "in a row": ([1, 2, 2, 3, 4, 4, 5, 1], [4, 3, 1, 0], [12, 7, 12, 5], {}),
    "another blank": ([[1, 2, 0], [0, 0, 3], [2, 1, 2], [3, 3, 3]], [3, 3, 3, 3], [12] * 4, {"blank": 5}),
    "impossible": (LABELS, [5, 5, 2, 1], [4, 12, 1, 0], {}),
    "impossible ones left out": (LABELS, [5, 5, 2, 1], [4, 12, 1, 0], {"zero_infinity": True}),
    "many examples": ([[1, 2]] * 70, [2] * 70, [12] * 70, {"examples": 70}),
}


@pytest.mark.parametrize("name", CTC)
def test_ctc(name):
    targets, lengths, times, options = CTC[name]
    ours, expected = (ctc(device, targets, lengths, times, **options) for device in ("cuda:1", "cpu"))
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_a_label_that_there_is_not():
    with asserted():
        ctc("cuda", [[1, 9], [1, 2], [1, 2], [1, 2]], [2] * 4, [12] * 4)
    torch.cuda.synchronize()
    ours = ctc("cuda", [[1, 2]] * 4, [2] * 4, [12] * 4)
    np.testing.assert_allclose(ours[0], ctc("cpu", [[1, 2]] * 4, [2] * 4, [12] * 4)[0], rtol=1e-9)
