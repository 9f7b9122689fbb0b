"""Pooling beside PyTorch's: every option, dtype and memory format, values, places and gradients.

The kernels choose by the size and the step of windows, by padding, dilation and the width of rows: so do
the cases here. Numbers with NaN, -inf and many that are equal say which element counts as the largest.
"""

import itertools

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
# kernel_size, stride, padding, dilation, ceil_mode
WINDOWS = [
    (2, None, 0, 1, False),
    (3, 2, 1, 1, False),
    (3, 1, 1, 1, True),
    (3, 3, 0, 1, True),
    (2, 1, 1, 2, False),
    (3, 2, 1, 2, True),
    (4, 3, 2, 1, False),
    (1, 2, 0, 1, True),
]
SHAPES = {
    1: [(2, 33), (1, 1, 70), (0, 2, 9)],
    2: [(1, 3, 9, 35), (1, 65, 5, 6), (2, 6, 7), (0, 2, 9, 9)],
    3: [(1, 2, 5, 6, 17), (1, 33, 4, 5, 4)],
}
SIZES = [1, 2, 3, 7, 40]
TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 4e-3, "bfloat16": 3e-2}
LAST = {4: "channels_last", 5: "channels_last_3d"}


def numbers(shape, special):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if special:
        x = np.round(x)
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.2] = -np.inf
    return x


def plain(t):
    return t.detach().double().numpy()


def run(library, call, array, dtype, last, grads):
    """Results and the gradient of the first; or the error."""
    x = library.tensor(array, dtype=getattr(library, dtype))
    if last:
        x = x.contiguous(memory_format=getattr(library, LAST[x.dim()]))
    x.requires_grad_()
    try:
        results = call(library.nn.functional, x)
    except Exception as error:
        return type(error), str(error).split("\nrushlight")[0]
    results = results if isinstance(results, tuple) else (results,)
    if not grads:
        return [plain(r) for r in results]
    weights = np.random.default_rng(1).standard_normal(tuple(results[0].shape))
    results[0].backward(library.tensor(weights, dtype=results[0].dtype))
    formats = [t.is_contiguous(memory_format=getattr(library, LAST[x.dim()])) for t in results if last]
    return [plain(r) for r in results] + [plain(x.grad)], formats


def agree(call, array, dtype="float32", last=False, grads=True):
    theirs, ours = (run(library, call, array, dtype, last, grads) for library in (torch, rushlight))
    if isinstance(theirs[0], type) or isinstance(ours[0], type):
        assert theirs == ours
        return
    if grads:
        assert theirs[1] == ours[1]
        theirs, ours = theirs[0], ours[0]
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b, a, rtol=TOLERANCE[dtype] * 4, atol=TOLERANCE[dtype] * 4)


def pool(name, *args, **named):
    return lambda F, x: getattr(F, name)(x, *args, **named)


def seeded(call):
    def drawn(F, x):
        rushlight.manual_seed(3)
        torch.manual_seed(3)
        return call(F, x)

    return drawn


def formats(shape):
    """Plain, and channels last where the shape has that."""
    return (False, True) if len(shape) in LAST and 0 not in shape else (False,)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_max_pool(n, dtype):
    windows = WINDOWS if dtype == "float32" else WINDOWS[::2]
    for shape, window, special in itertools.product(SHAPES[n], windows, (False, True)):
        for last in formats(shape):
            if last and n == 3 and special:
                continue  # where all is -inf, PyTorch leaves the depth out of the place
            agree(pool(f"max_pool{n}d", *window, special), numbers(shape, special), dtype, last)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_avg_pool(n, dtype):
    for shape, window in itertools.product(SHAPES[n], WINDOWS if dtype == "float32" else WINDOWS[::2]):
        *window, dilation, ceil = window
        for last in formats(shape) if dilation == 1 else ():
            for more in ((True,), (False,)) if n == 1 else ((False,), (True, -7)):
                agree(pool(f"avg_pool{n}d", *window, ceil, *more), numbers(shape, False), dtype, last)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adaptive(n, dtype):
    for shape, size in itertools.product(SHAPES[n], SIZES[: 5 if n < 3 else 4]):
        for last in formats(shape):
            agree(pool(f"adaptive_avg_pool{n}d", size), numbers(shape, False), dtype, last)
            for special in (False, True):
                agree(pool(f"adaptive_max_pool{n}d", size, True), numbers(shape, special), dtype, last)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("last", [False, True])
def test_halves(dtype, last):
    array = numbers((2, 5, 9, 18), False)
    for call in (
        lambda F, x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        lambda F, x: F.max_pool2d(x, 2),
        lambda F, x: F.avg_pool2d(x, 3, 2, 1),
        lambda F, x: F.adaptive_avg_pool2d(x, 4),
        lambda F, x: F.adaptive_max_pool2d(x, 3, True),
    ):
        agree(call, array, dtype, last)


@pytest.mark.parametrize(
    "call",
    [
        lambda F, x: F.avg_pool2d(x, 2, divisor_override=0),
        lambda F, x: F.avg_pool2d(x, 0),
        lambda F, x: F.avg_pool2d(x, 2, -1),
        lambda F, x: F.avg_pool2d(x, 2, 1, 2),
        lambda F, x: F.max_pool2d(x, 2, 1, -1),
        lambda F, x: F.max_pool2d(x, 2, 1, 0, 0),
        lambda F, x: F.max_pool2d(x, 30),
        lambda F, x: F.max_pool2d(x[0, 0], 2),
        lambda F, x: F.max_pool2d(x, 2, return_indices=True)[0][:, :0].sum() + F.max_pool2d(x[:, :0], 2),
        lambda F, x: F.avg_pool3d(x[None], (2, 7, 8), 1, (0, 3, 4)),
        lambda F, x: F.adaptive_avg_pool2d(x, (-1, 2)),
        lambda F, x: F.adaptive_max_pool2d(x[:, :, :0], 2),
        lambda F, x: F._max_pool2d(x, 2, return_indices=True),
        lambda F, x: F.max_pool2d_with_indices(x, 2),
        lambda F, x: F.adaptive_max_pool2d_with_indices(x, 2),
        lambda F, x: F._adaptive_max_pool2d(x, 2, True),
        lambda F, x: F.fractional_max_pool2d(x, 2, 2),
        lambda F, x: F.fractional_max_pool2d(x, 2),
        lambda F, x: F.fractional_max_pool2d(x, 7, 1),
        lambda F, x: F.fractional_max_pool2d(x, (2, 2, 2), 1),
        lambda F, x: F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5, 0.5)),
        lambda F, x: F.fractional_max_pool3d(x[None], (2, 3, 2), (2, 2, 3), None, True),
    ],
)
def test_edges(call):
    agree(seeded(call), numbers((2, 3, 6, 7), False), grads=False)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpool(n):
    """Back from max pooling, by hand and by wrong indices."""
    array = numbers((2, 3, 9, 8, 6)[: n + 2], False)

    def back(change=0, **more):
        def call(F, x):
            values, at = getattr(F, f"max_pool{n}d")(x, 2, 2, return_indices=True)
            size = {"output_size": x.size()} if "like" in more else more
            return getattr(F, f"max_unpool{n}d")(values, at * (change == 0) + change, 2, 2, **size)

        return call

    agree(back(), array)
    agree(back(like=True), array)
    for change in (10000, -10000):
        agree(back(change), array)
    for size in ([3], [100] * n, [-1] * n):
        agree(back(output_size=size), array)


def test_fractional_places():
    """The stream of random numbers, and what becomes of them, are PyTorch's, in halves too."""
    for dtype, shape, n in itertools.product(TOLERANCE, ((2, 3, 11, 13), (3, 9, 8, 7)), (2, 3)):
        call = pool(f"fractional_max_pool{n}d", 2, 5, return_indices=True)
        agree(seeded(call), numbers(shape, False), dtype)


def test_samples_that_are_no_chances():
    """Anything may stand in _random_samples; windows stay inside."""
    x = rushlight.arange(81.0).view(1, 1, 9, 9)
    for value in (float("nan"), float("inf"), -float("inf"), 1e30, -5.0):
        samples = rushlight.full((1, 1, 2), value)
        _, at = rushlight.nn.functional.fractional_max_pool2d(
            x, 3, 4, return_indices=True, _random_samples=samples
        )
        assert 0 <= int(at.min()) and int(at.max()) < 81


def test_indices_of_gradients_are_checked():
    """They may come from anywhere."""
    nn = rushlight._C._nn
    x, grad = rushlight.zeros(1, 2, 4, 4), rushlight.ones(1, 2, 2, 2)
    for at in (16, -1, 2**62):
        wrong = rushlight.full((1, 2, 2, 2), at)
        for last in (False, True):
            source = x.contiguous(memory_format=rushlight.channels_last) if last else x
            with pytest.raises(RuntimeError, match="max index"):
                nn.max_pool2d_with_indices_backward(grad, source, [2], [2], [0], [1], False, wrong)
            with pytest.raises(RuntimeError, match="max index"):
                nn.adaptive_max_pool2d_backward(grad, source, wrong)
        with pytest.raises(RuntimeError, match="max index"):
            nn.fractional_max_pool2d_backward(grad, x, 2, 2, wrong)
