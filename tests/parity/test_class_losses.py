"""Losses over classes: nll_loss, cross_entropy, ctc_loss, adaptive softmax and linear_cross_entropy.

class_loss_cases.txt holds lines; one that begins with = sets up those below it, each of which both libraries
evaluate: values, dtypes, nodes, texts, warnings and the first lines of errors must be equal.
"""

import itertools
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def cases():
    setup = ""
    for line in Path(__file__).with_name("class_loss_cases.txt").read_text().splitlines():
        if line.startswith("="):
            setup = line[1:].strip()
        elif line:
            yield pytest.param(setup, line, id=line.replace("::", ": :"))


class Numbers(NamedTuple):
    """What is compared of a tensor."""

    dtype: str
    node: str | None
    array: object


def plain(value):
    """A result as tuples, numbers and texts."""
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        # PyTorch divides by a number of C++ in some of them, which has another name
        node = value.grad_fn and value.grad_fn.name().replace("DivBackward1", "DivBackward0")
        dtype, shape = str(value.dtype).removeprefix("torch."), tuple(value.shape)
        array = None if value.is_meta else np.array(value.tolist(), dtype=float).reshape(shape)
        return Numbers(f"{dtype} {shape}", node, array)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(plain, value)]
    return value if isinstance(value, float) else repr(value).replace("rushlight", "torch")


def answer(t, setup, line):
    t.manual_seed(3)
    scope = {"torch": t, "nn": t.nn, "F": t.nn.functional, "grad": t.autograd.grad, "_nn": t._C._nn}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            exec(setup, scope)
            result = plain(eval(line, scope))
        except (SyntaxError, NameError):  # the case itself is broken
            raise
        except Exception as error:
            result = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return [result, [str(w.message).partition(" (Triggered")[0] for w in said]]


def close(ours, theirs, dtype="float32"):
    near = {"float16": 3e-3, "bfloat16": 2e-2}.get(dtype, 2e-5)
    np.testing.assert_allclose(ours, theirs, rtol=near, atol=near)


def assert_same(ours, theirs):
    if isinstance(theirs, Numbers) and theirs.array is not None:
        assert ours[:2] == theirs[:2]
        close(ours.array, theirs.array, theirs.dtype.partition(" ")[0])
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    elif isinstance(theirs, float):
        close(ours, theirs)
    else:
        assert ours == theirs


@pytest.mark.parametrize(("setup", "line"), list(cases()))
def test_same(setup, line):
    assert_same(answer(rushlight, setup, line), answer(torch, setup, line))


# ---- gradients ----
def both(function, *arrays, **options):
    """function(library, *tensors) and its gradients by all of them, in float64, in both libraries."""
    answers = []
    for t in (rushlight, torch):
        leaves = [t.tensor(a, dtype=t.float64).requires_grad_() for a in arrays]
        result = function(t, *leaves, **options)
        weights = t.linspace(0.5, 1.5, result.numel(), dtype=t.float64).view(result.shape)
        grads = t.autograd.grad((result * weights).sum(), leaves)
        answers.append([np.array(v.tolist()) for v in (result.detach(), *grads)])
    return zip(*answers, strict=True)


def random(*shape):
    return np.random.default_rng(7).standard_normal(shape)


@pytest.mark.parametrize(
    "shape", [(7, 5), (5,), (3, 5, 4), (2, 5, 3, 4), (2, 5, 1, 2, 3), (3, 5, 40, 41)], ids=str
)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_gradients(shape, reduction):
    places = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    classes = np.random.default_rng(1).integers(0, 5, places)
    weight = [0.5, 2.0, 1.25, 0.1, 1.0]
    options = itertools.product((False, True), (-100, 2), (0.0, 0.3))
    for weighted, ignore, smoothing in options if len(places) < 3 else [(True, 2, 0.0)]:

        def loss(t, x, weighted=weighted, ignore=ignore, smoothing=smoothing):
            return t.nn.functional.cross_entropy(
                x,
                t.tensor(classes),
                t.tensor(weight, dtype=x.dtype) if weighted else None,
                ignore_index=ignore,
                reduction=reduction,
                label_smoothing=smoothing,
            )

        for ours, theirs in both(loss, random(*shape)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", [(7, 5), (5,), (3, 5, 4)], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradients_of_probabilities_and_weights(shape, reduction, smoothing):
    def loss(t, x, target, weight):
        return t.nn.functional.cross_entropy(
            x, target, weight, reduction=reduction, label_smoothing=smoothing
        )

    for ours, theirs in both(loss, random(*shape), np.abs(random(*shape)), np.abs(random(5)) + 0.1):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("layout", ["turned", "strided", "channels_last"])
def test_nll_of_images_in_other_orders(layout):
    """PyTorch has the loss of these and refuses the gradient."""
    classes = np.random.default_rng(2).integers(0, 3, (4, 5, 3))

    def loss(t, x):
        x = x.permute(3, 2, 1, 0)
        if layout == "strided":
            x = x[:, ::2]
        elif layout == "channels_last":
            x = x.contiguous(memory_format=t.channels_last)
        return t.nn.functional.nll_loss(x.contiguous() if t is torch else x, t.tensor(classes))

    for ours, theirs in both(loss, random(3, 5, 6, 4)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("kind", [list, "tensor"], ids=["lists", "tensors"])
def test_ctc_gradients(reduction, joined, kind):
    targets = np.random.default_rng(3).integers(1, 9, (3, 17))
    targets[:, 5] = targets[:, 4]  # which a blank must part
    lengths, times = [17, 0, 6], [40, 33, 12]
    if joined:
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])

    def loss(t, x):
        as_given = list if kind is list else t.tensor
        return t.nn.functional.ctc_loss(
            x.log_softmax(2), t.tensor(targets), as_given(times), as_given(lengths), reduction=reduction
        )

    for ours, theirs in both(loss, random(40, 3, 9)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("rows", [None, 1, 4, 30])
def test_linear_cross_entropy_gradients(reduction, rows):
    classes = np.random.default_rng(4).integers(0, 23, 30)

    def loss(t, x, weight, bias, chunks=True):
        return t.nn.functional.linear_cross_entropy(
            x,
            weight,
            t.tensor(classes),
            linear_bias=bias,
            weight=t.linspace(0.5, 2, 23, dtype=x.dtype),
            reduction=reduction,
            ignore_index=3,
            options=t.nn.LinearCrossEntropyOptions(batch_chunk_size=rows) if chunks else None,
        )

    arrays = random(30, 6), random(23, 6), random(23)
    for (ours, theirs), (whole, _) in zip(
        both(loss, *arrays), both(loss, *arrays, chunks=False), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(ours, whole, rtol=1e-9, atol=1e-11)


def test_adaptive_softmax():
    outputs = []
    for t in (rushlight, torch):
        t.manual_seed(4)
        layer = t.nn.AdaptiveLogSoftmaxWithLoss(8, 50, [4, 10, 30], div_value=2.0, head_bias=True)
        layer.reset_parameters()
        x = t.tensor(random(40, 8), dtype=t.float32)
        output, loss = layer(x, t.arange(40))
        loss.backward()
        grads = [p.grad for p in layer.parameters()]
        outputs.append(
            [np.array(v.tolist()) for v in (output, loss, *grads, layer.log_prob(x), layer.predict(x))]
        )
        assert list(layer.state_dict()) == ["head.weight", "head.bias"] + [
            f"tail.{i}.{j}.weight" for i in range(3) for j in range(2)
        ]
    for ours, theirs in zip(*outputs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
