"""Convolutions of all kinds beside PyTorch's, forward and backward: dimensions, groups, strides, padding,
dilation, formats and dtypes whose combinations choose among the kernels."""

import itertools

import numpy as np
import pytest
import torch

import rushlight

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 3e-3}
# channels of a group in and out; groups: few and many, uneven ones, depthwise with a multiplier, one of one
CHANNELS = [(3, 5, 1), (2, 3, 4), (1, 1, 18), (1, 2, 7), (20, 33, 1)]
# kernel, stride, padding, dilation, one of each dimension
WINDOWS = [
    ((3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((1, 1, 1), (2, 2, 2), (0, 0, 0), (1, 1, 1)),
    ((2, 4, 3), (1, 2, 3), (0, 1, 2), (1, 1, 2)),
    ((3, 1, 5), (2, 3, 1), (2, 0, 4), (2, 1, 1)),
]
SIZE = (5, 7, 9)
CASES = [
    (spatial, transposed, channels, window)
    for spatial, transposed in itertools.product((1, 2, 3), (False, True))
    for channels in CHANNELS
    for window in WINDOWS
]


def numbers(rng, shape):
    """Whole ones: sums are exact, in whatever order they are made."""
    return rng.integers(-3, 4, shape).astype("float32")


def tensors(library, arrays, dtype, last):
    made = [library.from_numpy(a.copy()).to(getattr(library, dtype)) for a in arrays]
    if last and made[0].ndim > 3:
        formats = {4: library.channels_last, 5: library.channels_last_3d}
        made[0] = made[0].to(memory_format=formats[made[0].ndim])
    return [t.requires_grad_() for t in made]


def results(library, function, leaves, seed, **options):
    out = getattr(library.nn.functional, function)(*leaves, **options)
    grad = library.from_numpy(numbers(np.random.default_rng(seed), tuple(out.shape))).to(out.dtype)
    return [out, *library.autograd.grad(out, leaves, grad)]


def check(spatial, transposed, channels, window, dtype, last=False, batch=2):
    inputs, outputs, groups = channels
    kernel, stride, padding, dilation = (part[3 - spatial :] for part in window)
    weight = (inputs * groups, outputs) if transposed else (outputs * groups, inputs)
    rng = np.random.default_rng(len(kernel) + groups)
    image = (inputs * groups, *SIZE[3 - spatial :])
    arrays = [
        numbers(rng, (batch, *image) if batch is not None else image),
        numbers(rng, (*weight, *kernel)),
        numbers(rng, (outputs * groups,)),
    ]
    options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    if transposed:
        options["output_padding"] = tuple(max(s, d) - 1 for s, d in zip(stride, dilation))
    function = f"conv_transpose{spatial}d" if transposed else f"conv{spatial}d"
    both = [
        results(library, function, tensors(library, arrays, dtype, last), 5, **options)
        for library in (rushlight, torch)
    ]
    for ours, theirs in zip(*both, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        a, b = (t.detach().to(library.float64).numpy() for t, library in ((ours, rushlight), (theirs, torch)))
        limit = TOLERANCE[dtype] * max(1, np.abs(b).max(initial=0))
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=limit)


@pytest.mark.parametrize("spatial, transposed, channels, window", CASES)
def test_forward_and_gradients(spatial, transposed, channels, window):
    check(spatial, transposed, channels, window, "float32")


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("spatial, transposed", list(itertools.product((1, 2, 3), (False, True))))
def test_dtypes(spatial, transposed, dtype):
    for channels, window in zip(CHANNELS, WINDOWS):
        check(spatial, transposed, channels, window, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("spatial", (2, 3))
def test_channels_last(spatial, dtype):
    for channels, window in itertools.product(CHANNELS, WINDOWS):
        check(spatial, False, channels, window, dtype, last=True)


@pytest.mark.parametrize("spatial, transposed", list(itertools.product((1, 2, 3), (False, True))))
def test_without_batch_and_with_an_empty_one(spatial, transposed):
    for batch in (None, 0, 1):
        check(spatial, transposed, CHANNELS[1], WINDOWS[2], "float32", batch=batch)


def test_many_small_images_share_tiles():
    check(2, False, (20, 33, 1), WINDOWS[1], "float32", batch=40)
    check(2, True, (3, 5, 1), WINDOWS[2], "float32", batch=40)


@pytest.mark.parametrize("spatial", (1, 2, 3))
def test_nn_grad(spatial):
    rng = np.random.default_rng(spatial)
    size, kernel, out = (6, 7, 8)[3 - spatial :], (2, 3, 3)[3 - spatial :], (4, 4, 4)[3 - spatial :]
    x, w, grad = (numbers(rng, s) for s in ((2, 4, *size), (6, 2, *kernel), (2, 6, *out)))
    for library in (rushlight, torch):
        a, b, g = (library.from_numpy(t) for t in (x, w, grad))
        module = library.nn.grad
        both = (
            getattr(module, f"conv{spatial}d_input")(a.shape, b, g, 2, 1, groups=2),
            getattr(module, f"conv{spatial}d_weight")(a, b.shape, g, stride=2, padding=1, groups=2),
        )
        if library is rushlight:
            ours = both
    for a, b in zip(ours, both, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize(
    "call",
    [
        "t.conv_tbc(t.ones(5, 2), t.ones(3, 4, 6), t.ones(6))",
        "t.conv_tbc(t.ones(5, 2, 4), t.ones(3, 4), t.ones(6))",
        "t.conv_tbc(t.ones(5, 2, 4), t.ones(3, 4, 6), t.ones(6, 1))",
        "t.conv_tbc(t.ones(5, 2, 4), t.ones(3, 5, 6), t.ones(6))",
        "t.conv_tbc(t.ones(5, 2, 4), t.ones(3, 4, 6), t.ones(5))",
        "t.conv_tbc(t.ones(2, 2, 4), t.ones(4, 4, 6), t.ones(6))",
        "t.convolution(t.ones(2, 5), t.ones(3, 2, 3), None, [1], [0], [1], False, [0], 1)",
        "t.convolution(t.ones(1, 2, 5, 5), t.ones(3, 2, 3, 3), None, [1, 2, 3], [0], [1], False, [0], 1)",
        "t.convolution(t.ones(1, 2), t.ones(3, 2, 1, 1, 1, 1), None, [1], [0], [1], False, [0], 1)",
        "t.convolution(t.ones(1, 2, 5, 5), t.ones(3, 2, 3), None, [1, 1], [0], [1], False, [0], 1)",
        "t._convolution_mode(t.ones(1, 2, 5, 5), t.ones(3, 2, 3, 3), None, [1], 'what', [1], 1)",
    ],
)
def test_errors(call):
    said = []
    for library in (rushlight, torch):
        with pytest.raises(RuntimeError) as caught:
            eval(call, {"t": library})
        said.append(str(caught.value).split("\n")[0])
    assert said[0] == said[1]
