"""Norms and softmax at sizes that the samples leave out: every remainder of the vector width, long and short
rows, lines and planes, far means, rows without numbers, and one result for any number of threads."""

import numpy as np
import pytest

import op_samples as samples
import rushlight as torch
import rushlight.nn.functional as F
from rushlight import _C

SIZES = [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 130]
LONG = [
    1023,
    1024,
    1025,
    2049,
    9001,
]  # around a span of sums, and of rows whose weights have sums of their own


def operator(name):
    return samples.function(_C, samples.OPERATORS[name])


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array):
    return torch.from_numpy(array)


def check(ours, expected, tolerance=2e-5):
    assert tuple(ours.shape) == expected.shape
    largest = np.abs(expected).max() if expected.size else 0
    np.testing.assert_allclose(ours.numpy(), expected, rtol=tolerance, atol=tolerance * max(largest, 0.5))


# ---- NumPy's side: x is (samples, groups, channels of a group, elements), in double ----
def normalised(x, over, eps):
    mean = x.mean(over, keepdims=True)
    scale = 1 / np.sqrt(((x - mean) ** 2).mean(over, keepdims=True) + eps)
    return (x - mean) * scale, mean, scale


def back(grad, x, weight, over, eps, around_zero=False):
    """Gradients by input, weight and bias; weight stretches over x, those by it keep x's shape."""
    if around_zero:
        scale = 1 / np.sqrt((x * x).mean(over, keepdims=True) + eps)
        h = x * scale
    else:
        h, _, scale = normalised(x, over, eps)
    u = grad * weight
    away = h * (u * h).mean(over, keepdims=True)
    if not around_zero:
        away = away + u.mean(over, keepdims=True)
    return (u - away) * scale, grad * h, grad


# ---- rows ----
@pytest.mark.parametrize("n", SIZES + LONG)
@pytest.mark.parametrize("rows", [1, 3, 70])
def test_rows(n, rows):
    x, g, w, b = numbers(rows, n), numbers(rows, n, seed=1), numbers(n, seed=2), numbers(n, seed=3)
    wide, eps = x.astype(np.float64), 1e-3
    h, mean, scale = normalised(wide, 1, eps)
    args = (tensor(x), (n,), tensor(w), tensor(b), eps)
    y, m, s = operator("native_layer_norm")(*args)
    check(y, h * w + b)
    check(m, mean)
    check(s, scale)
    check(F.layer_norm(tensor(x), (n,), None, tensor(b), eps), h + b)
    check(F.layer_norm(tensor(x), (n,), tensor(w), None, eps), h * w)
    check(F.layer_norm(tensor(x), (n,), None, None, eps), h)
    for weight, given in ((w, tensor(w)), (1.0, None)):
        expected = back(g.astype(np.float64), wide, weight, 1, eps)
        for kept in ((m, s), (None, None)):
            made = operator("native_layer_norm_backward")(tensor(g), tensor(x), (n,), *kept, given, eps)
            check(made[0], expected[0])
            check(made[1], expected[1].sum(0))
            check(made[2], expected[2].sum(0))
        expected = back(g.astype(np.float64), wide, weight, 1, eps, around_zero=True)
        made = operator("rms_norm_backward")(tensor(g), tensor(x), (n,), given, eps)
        check(made[0], expected[0])
        check(made[1], expected[1].sum(0))
    square = np.sqrt((wide * wide).mean(1, keepdims=True) + eps)
    check(F.rms_norm(tensor(x), (n,), tensor(w), eps), wide / square * w)
    check(F.rms_norm(tensor(x), (n,), None, eps), wide / square)


@pytest.mark.parametrize("rows, n", [(5000, 3), (130, 8200), (129, 500)])
def test_sums_over_many_rows(rows, n):
    x, g = numbers(rows, n), numbers(rows, n, seed=1) + 1
    expected = back(g.astype(np.float64), x.astype(np.float64), 1.0, 1, 1e-5)
    made = operator("native_layer_norm_backward")(tensor(g), tensor(x), (n,), None, None, None)
    check(made[1], expected[1].sum(0))
    check(made[2], expected[2].sum(0), 1e-6)


# ---- groups ----
@pytest.mark.parametrize(
    "shape, groups",
    [
        *(((2, 4, n), 2) for n in SIZES),
        *(((3, 6), groups) for groups in (1, 2, 6)),
        ((20, 6, 3), 3),
        ((1, 4, 4100), 2),
        ((9, 2, 4100), 1),
        ((2, 3, 5, 7), 3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_groups(shape, groups):
    x, g, eps = numbers(*shape), numbers(*shape, seed=1), 1e-3
    w, b = numbers(shape[1], seed=2), numbers(shape[1], seed=3)
    split = (shape[0], groups, shape[1] // groups, x[0, 0].size)
    by_channel = (1, groups, split[2], 1)
    wide, weight = x.astype(np.float64).reshape(split), w.astype(np.float64).reshape(by_channel)
    h, mean, scale = normalised(wide, (2, 3), eps)
    rest = (shape[0], shape[1], split[3], groups, eps)
    y, m, s = operator("native_group_norm")(tensor(x), tensor(w), tensor(b), *rest)
    check(y, (h * weight + b.reshape(by_channel)).reshape(shape))
    check(m, mean.reshape(shape[0], groups))
    check(s, scale.reshape(shape[0], groups))
    check(F.group_norm(tensor(x), groups, None, tensor(b), eps), (h + b.reshape(by_channel)).reshape(shape))
    check(F.group_norm(tensor(x), groups, None, None, eps), h.reshape(shape))
    for factor, given in ((weight, tensor(w)), (1.0, None)):
        expected = back(g.astype(np.float64).reshape(split), wide, factor, (2, 3), eps)
        for kept in ((m, s), (None, None)):
            made = operator("native_group_norm_backward")(tensor(g), tensor(x), *kept, given, groups, eps)
            check(made[0], expected[0].reshape(shape))
            check(made[1], expected[1].sum((0, 3)).reshape(-1))
            check(made[2], expected[2].sum((0, 3)).reshape(-1))


@pytest.mark.parametrize("n", [*SIZES, 4100])
def test_instances(n):
    x, w, b = numbers(3, 2, n), numbers(2, seed=2), numbers(2, seed=3)
    mean, variance = numbers(2, seed=4), np.abs(numbers(2, seed=5)) + 0.5
    wide, column = x.astype(np.float64), (1, 2, 1)
    scaled = (wide - mean.reshape(column)) / np.sqrt(variance.reshape(column) + 1e-5)
    given = [tensor(a) for a in (w, b, mean.copy(), variance.copy())]
    check(
        operator("instance_norm")(tensor(x), *given, False, 0.1, 1e-5, True),
        scaled * w.reshape(column) + b.reshape(column),
    )
    h, _, _ = normalised(wide, 2, 1e-5)
    y = operator("instance_norm")(tensor(x), *given, True, 0.1, 1e-5, True)
    check(y, h * w.reshape(column) + b.reshape(column), 1e-4)
    check(given[2], 0.9 * mean + 0.1 * wide.mean((0, 2)))
    if n > 1:
        check(given[3], 0.9 * variance + 0.1 * wide.var(2, ddof=1).mean(0))


# ---- channels of all samples ----
@pytest.mark.parametrize(
    "shape",
    [
        *((5, n) for n in SIZES),
        *((3, 5, n) for n in SIZES),
        *((rows, 3) for rows in (2, 63, 64, 65, 129, 4200)),
        *((rows, 3, 5) for rows in (17, 80)),
        ((17, 40, 3, 7)),
        ((2, 2, 1500)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_batches(shape):
    x, g, eps, c = numbers(*shape), numbers(*shape, seed=1), 1e-3, shape[1]
    w, b, column = numbers(c, seed=2), numbers(c, seed=3), (1, 1, c, 1)
    mean, variance = numbers(c, seed=4), np.abs(numbers(c, seed=5)) + 0.5
    split = (1, shape[0], c, x[0, 0].size)
    wide, grad, weight = (
        x.astype(np.float64).reshape(split),
        g.astype(np.float64).reshape(split),
        w.reshape(column),
    )
    h, means, scales = normalised(wide, (1, 3), eps)
    running = [tensor(mean.copy()), tensor(variance.copy())]
    back_op = operator("native_batch_norm_backward")
    y, m, s = operator("native_batch_norm")(tensor(x), tensor(w), tensor(b), *running, True, 0.1, eps)
    check(y, (h * weight + b.reshape(column)).reshape(shape))
    check(m, means.reshape(-1))
    check(s, scales.reshape(-1))
    check(running[0], 0.9 * mean + 0.1 * means.reshape(-1))
    check(running[1], 0.9 * variance + 0.1 * wide.var((1, 3), ddof=1).reshape(-1))
    made = back_op(tensor(g), tensor(x), tensor(w), None, None, m, s, True, eps)
    for ours, theirs in zip(made, back(grad, wide, weight, (1, 3), eps), strict=True):
        check(ours, theirs.reshape(shape) if ours is made[0] else theirs.sum((0, 1, 3)), 1e-4)
    frozen = 1 / np.sqrt(variance.astype(np.float64) + eps).reshape(column)
    off = wide - mean.reshape(column)
    given = [tensor(mean), tensor(variance)]
    check(
        F.batch_norm(tensor(x), *given, tensor(w), None, False, 0.1, eps),
        (off * frozen * weight).reshape(shape),
    )
    made = back_op(tensor(g), tensor(x), None, *given, None, None, False, eps)
    check(made[0], (grad * frozen).reshape(shape))
    check(made[1], (grad * off * frozen).sum((0, 1, 3)), 1e-4)
    check(made[2], grad.sum((0, 1, 3)), 1e-4)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (4, 17, 3, 3), (1, 64, 9, 1)])
@pytest.mark.parametrize("training", [True, False])
def test_channels_last(shape, training):
    """Whichever way the numbers lie, the results are those of a contiguous input."""
    x, g, w, b = rows_of(shape, shape[1])
    running = [tensor(np.abs(numbers(shape[1], seed=4)))] * 2

    def results(x, g):
        y, m, s = operator("native_batch_norm")(x, w, b, *running, training, 0.0, 1e-5)
        return [y, *operator("native_batch_norm_backward")(g, x, w, *running, m, s, training, 1e-5)]

    turned = [t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2) for t in (x, g)]
    for ours, theirs in zip(results(*turned), results(x, g), strict=True):
        check(ours, theirs.numpy(), 1e-5)


# ---- softmax ----
def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


@pytest.mark.parametrize(
    "shape, dim",
    [
        *(((3, n), 1) for n in SIZES + LONG),
        *(((2, 5, n), 1) for n in SIZES),
        *(((n, 3), 0) for n in (1, 2, 63, 64, 65, 2049, 60001)),
        ((3, 4, 5), 0),
        ((2, 3, 4, 1), 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_softmax(shape, dim):
    x, g = numbers(*shape) * 4, numbers(*shape, seed=1)
    expected, grad = softmax(x.astype(np.float64), dim), g.astype(np.float64)
    y, log_y = torch.softmax(tensor(x), dim), torch.log_softmax(tensor(x), dim)
    np.testing.assert_allclose(y.numpy(), expected, rtol=3e-6)
    np.testing.assert_allclose(log_y.numpy(), np.log(expected), rtol=1e-6, atol=2e-6)
    made = operator("softmax_backward")(tensor(g), tensor(expected.astype(np.float32)), dim)
    check(made, (grad - (grad * expected).sum(dim, keepdims=True)) * expected, 1e-6)
    made = operator("log_softmax_backward")(tensor(g), tensor(np.log(expected).astype(np.float32)), dim)
    check(made, grad - expected * grad.sum(dim, keepdims=True), 1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_many_equal_numbers(dim):
    """Rounding goes one way in each sum, and would add up."""
    x = np.zeros((2, 300001), np.float32)
    x[:, 0] = 0.3
    y = torch.softmax(tensor(x if dim else x.T.copy()), dim).numpy()
    np.testing.assert_allclose(y if dim else y.T, softmax(x.astype(np.float64), 1), rtol=1e-6)


@pytest.mark.parametrize("n", [2, 9, 20, 40])
@pytest.mark.parametrize("dim", [0, 1])
def test_what_is_far_below_is_zero(n, dim):
    x = np.full((2, n), -200, np.float32)
    x[:, 1] = 0
    y = torch.softmax(tensor(x if dim else x.T.copy()), dim).numpy()
    assert (y if dim else y.T).tolist() == (x == 0).astype(np.float32).tolist()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("n", [1, 5, 16, 40, 130])
def test_rows_without_numbers(n, dim):
    """A row of -inf, or with inf or NaN in it, is NaN; -inf beside numbers is 0; others stay."""
    inf, nan = np.inf, np.nan
    rows = np.zeros((6, n), np.float32)
    rows[0], rows[1, -1], rows[2, n // 2], rows[3, 0] = -inf, inf, nan, -inf
    rows[4] = 3e38
    x = tensor(rows if dim else rows.T.copy())
    for function, zero in ((torch.softmax, 0), (torch.log_softmax, -inf)):
        y = function(x, dim).numpy()
        y = y if dim else y.T
        assert np.isnan(y[:3]).all()
        if n > 1:
            assert y[3, 0] == zero and not np.isnan(y[3]).any()
        even = 1 / n if zero == 0 else -np.log(n)
        np.testing.assert_allclose(y[4:], even, rtol=2e-6)
    for bad in (inf, -inf, nan):
        rows = numbers(3, n)
        rows[1, n // 2] = bad
        y = F.layer_norm(tensor(rows), (n,)).numpy()
        assert np.isnan(y[1]).all() and not np.isnan(y[::2]).any()
        y = torch.group_norm(tensor(rows.reshape(1, 3, n)), 3).numpy()[0]
        assert np.isnan(y[1]).all() and not np.isnan(y[::2]).any()


@pytest.mark.parametrize("n", [7, 100, 5000])
def test_means_far_from_zero(n):
    """The deviation of what lies around 10,000, as exact as float32 holds the numbers."""
    x = numbers(3, n) + np.float32(1e4)
    h, mean, scale = normalised(x.astype(np.float64), 1, 1e-5)
    y, m, s = operator("native_layer_norm")(tensor(x), (n,), None, None, 1e-5)
    check(s, scale, 1e-6)
    check(m, mean, 1e-7)
    np.testing.assert_allclose(y.numpy(), h, atol=2e-6)
    y = F.group_norm(tensor(x.reshape(1, 3, n)), 3)
    np.testing.assert_allclose(y.numpy()[0], h, atol=2e-6)
    columns = np.ascontiguousarray(x.T)
    for batch in (columns, x.reshape(1, 3, n)):
        y, m, s = operator("native_batch_norm")(tensor(batch), None, None, None, None, True, 0.1, 1e-5)
        check(s, scale[:, 0], 1e-6)
        got = y.numpy().T if batch is columns else y.numpy()[0]
        np.testing.assert_allclose(got, h, atol=2e-6)


@pytest.mark.parametrize("n", [40, 1000, 3000])
def test_a_first_number_far_from_the_others(n):
    x = numbers(3, n)
    x[:, 0] = 1e4
    h, mean, scale = normalised(x.astype(np.float64), 1, 1e-5)
    y, m, s = operator("native_layer_norm")(tensor(x), (n,), None, None, 1e-5)
    np.testing.assert_allclose(s.numpy(), scale, rtol=2e-6)
    check(m, mean, 2e-6)
    np.testing.assert_allclose(y.numpy(), h, rtol=2e-6, atol=2e-6)


def test_equal_numbers_have_no_deviation():
    x = torch.full((2, 100), 0.1)
    assert F.layer_norm(x, (100,), eps=1e-12).abs().max().item() < 1e-2
    assert F.batch_norm(x.t().contiguous(), None, None, training=True, eps=1e-12).abs().max().item() < 1e-2


# ---- threads ----
def rows_of(shape, n):
    x, g = numbers(*shape), numbers(*shape, seed=1)
    w, b = tensor(numbers(n, seed=2)), tensor(numbers(n, seed=3))
    return tensor(x), tensor(g), w, b


def layer_norms(*shape, rows=rows_of):
    n = shape[-1]
    x, g, w, b = rows(shape, n)
    y, m, s = operator("native_layer_norm")(x, (n,), w, b, 1e-5)
    made = operator("native_layer_norm_backward")(g, x, (n,), m, s, w)
    return [y, m, s, *made, F.rms_norm(x, (n,), w), *operator("rms_norm_backward")(g, x, (n,), w)]


def group_norms(groups, *shape, rows=rows_of):
    x, g, w, b = rows(shape, shape[1])
    y, m, s = operator("native_group_norm")(
        x, w, b, *shape[:2], x.numel() // (shape[0] * shape[1]), groups, 1e-5
    )
    return [y, m, s, *operator("native_group_norm_backward")(g, x, m, s, w, groups)]


def batch_norms(*shape, rows=rows_of):
    x, g, w, b = rows(shape, shape[1])
    y, m, s = operator("native_batch_norm")(x, w, b, None, None, True, 0.1, 1e-5)
    return [y, m, s, *operator("native_batch_norm_backward")(g, x, w, None, None, m, s, True, 1e-5)]


def softmaxes(dim, *shape, rows=rows_of):
    x, g, _, _ = rows(shape, 1)
    y, z = torch.softmax(x, dim), torch.log_softmax(x, dim)
    return [y, z, operator("softmax_backward")(g, y, dim), operator("log_softmax_backward")(g, z, dim)]


@pytest.mark.parametrize(
    "function, args",
    [
        *((layer_norms, shape) for shape in ((3000, 70), (9, 30000), (700, 500))),
        *((group_norms, shape) for shape in ((1, 1, 4, 60000), (4, 8, 8, 4000), (4, 3000, 8, 7))),
        *((batch_norms, shape) for shape in ((40000, 7), (300, 40, 20), (20, 6, 3000))),
        *((softmaxes, shape) for shape in ((1, 300, 1000), (0, 300, 1000), (1, 40, 30, 200))),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_threads_do_not_change_results(function, args):
    before = torch.get_num_threads()
    try:
        made = []
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            made.append([t.numpy().tobytes() for t in function(*args)])
    finally:
        torch.set_num_threads(before)
    assert made[0] == made[1] == made[2] == made[3]


# ---- halves ----
@pytest.mark.parametrize("weights", ["float32", "half"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "function, args",
    [
        *((layer_norms, shape) for shape in ((5, 33), (70, 9), (3, 9001))),
        *((group_norms, shape) for shape in ((2, 3, 6, 19), (3, 2, 6, 5), (1, 1, 4, 4100))),
        *((softmaxes, shape) for shape in ((1, 7, 33), (0, 7, 33), (1, 4, 9, 5))),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_halves_compute_in_floats(function, args, dtype, weights):
    """What halves give is what their values give in float32, rounded; weights may be of either."""
    half = getattr(torch, dtype)
    wanted = [half, half, *[half if weights == "half" else torch.float32] * 2]

    def halves(shape, n):
        return [t.to(to) for t, to in zip(rows_of(shape, n), wanted, strict=True)]

    def values(shape, n):
        return [t.float() for t in halves(shape, n)]

    step = 2.0 ** (-7 if dtype == "bfloat16" else -10)
    for ours, theirs in zip(function(*args, rows=halves), function(*args, rows=values), strict=True):
        assert ours.dtype in wanted
        check(ours.float(), theirs.numpy(), 3 * step)


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 40)], ids=str)
def test_batch_norm_of_numbers_whose_squares_are_beyond_float32(shape):
    x = torch.ones(shape)
    x[:, 0] = torch.tensor([1e30, 2e30, 3e30]).reshape(3, *[1] * (len(shape) - 2))
    y = F.batch_norm(x, None, None, training=True)
    expected = [-(1.5**0.5), 0, 1.5**0.5]
    np.testing.assert_allclose(y[:, 0].reshape(3, -1)[:, 0].numpy(), expected, atol=1e-6)
