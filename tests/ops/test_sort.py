"""Sorting and selection at the lengths where the kernels change their way, beside NumPy's stable order."""

import numpy as np
import pytest

import rushlight as torch

# networks, merges, narrow and wide digits, several threads
LENGTHS = [1, 7, 8, 9, 33, 199, 200, 1000, 9000, 70_000]


def values(kind, shape):
    rng = np.random.default_rng(shape[-1])
    match kind:
        case "float32" | "float64" | "float16":
            made = np.round(rng.standard_normal(shape) * 3, 2).astype(kind)
            made.flat[::11], made.flat[::5], made.flat[::7] = -np.inf, -0.0, np.nan
            return made
        case "far":  # keys of 64 bits
            return rng.integers(-(2**62), 2**62, shape)
        case "near":  # ... of which few differ
            return rng.integers(2**60, 2**60 + 2**20, shape)
        case "equal":
            return np.full(shape, 3)
        case "bool":
            return rng.random(shape) < 0.5
    low = np.iinfo(kind).min
    return rng.integers(low, np.iinfo(kind).max, shape, endpoint=True).astype(kind)


KINDS = ["float16", "float32", "float64", "far", "near", "equal", "int32", "int16", "uint8", "bool"]


def stable_order(a, axis, descending=False):
    """Places in order; NaN is the largest, and equal elements keep theirs."""
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    _, rank = np.unique(a, return_inverse=True, equal_nan=True)
    return np.argsort(-rank.reshape(a.shape), axis=axis, kind="stable")


def same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_sort_is_stable(kind, length):
    a = values(kind, (length,))
    for descending in (False, True):
        order = stable_order(a, 0, descending)
        found, places = torch.from_numpy(a).sort(stable=True, descending=descending)
        same(places, order)
        same(found, a[order])
        same(torch.from_numpy(a).argsort(descending=descending), order)


@pytest.mark.parametrize("shape, dim", [((5, 40), 0), ((300, 5), 0), ((4, 300, 3), 1), ((2, 3, 250), -1)])
@pytest.mark.parametrize("kind", ["float32", "far", "uint8"])
def test_lines_along_any_dim(kind, shape, dim):
    a = values(kind, shape)
    order = stable_order(a, dim)
    found, places = torch.from_numpy(a).sort(dim)
    same(places, order)
    same(found, np.take_along_axis(a, order, dim))
    k = shape[dim] // 2
    _, places = torch.from_numpy(a).topk(k, dim, largest=False)
    same(places, order.take(range(k), dim))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_selection_answers_as_sorting_does(kind, length):
    a = values(kind, (length,))
    x = torch.from_numpy(a)
    for largest in (False, True):
        order = stable_order(a, 0, largest)
        for k in {1, 10, 30, length // 9, length // 2, length - 1, length}:
            if 0 < k <= length:
                found, places = x.topk(k, largest=largest)
                same(places, order[:k])
                same(found, a[order[:k]])
    order = stable_order(a, 0)
    for k in {1, length // 3 + 1, length}:
        found, place = x.kthvalue(k)
        assert place.item() == order[k - 1]
        same(found, a[order[k - 1]])


def test_topk_of_what_goes_up():
    """Every element is a new largest one."""
    a = np.arange(200_000, dtype=np.float32)
    for k in (1, 24, 25, 1000):
        same(torch.from_numpy(a).topk(k)[1], np.arange(200_000)[::-1][:k].copy())


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_medians_and_nan(kind, length):
    a = values(kind, (length,))
    x = torch.from_numpy(a)
    found, place = x.median(0)
    assert found.isnan() and place.item() == 0 and x.median().isnan()
    numbers = np.sort(a[~np.isnan(a)])
    expected = numbers[(len(numbers) - 1) // 2] if len(numbers) else np.nan
    found, place = x.nanmedian(0)
    same(found, expected)
    same(x.nanmedian(), expected)
    same(x[place], expected)


def test_the_most_frequent_is_the_smallest_of_those():
    x = torch.tensor([3.0, 1.0, 1.0, 3.0, float("nan"), float("nan"), float("nan")])
    found, place = x.mode()
    assert (found.item(), place.item()) == (1.0, 2)


def test_threads_change_nothing():
    x = torch.from_numpy(values("float32", (150_000,)))
    before = torch.get_num_threads()
    answers = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            answers.append([*x.sort(), *x.topk(40), *x.topk(20_000), *x.kthvalue(777), x.nanmedian()])
    finally:
        torch.set_num_threads(before)
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            same(one, two.numpy())


def test_isin_at_both_ends():
    a = values("int32", (1000,))
    x, some = torch.from_numpy(a), torch.from_numpy(a[::9].copy())
    same(torch.isin(x, some), np.isin(a, a[::9]))
    same(torch.isin(x, some, invert=True), ~np.isin(a, a[::9]))


@pytest.mark.parametrize(
    "shape, dim", [((0,), None), ((50,), None), ((6, 7), None), ((40, 2), 0), ((2, 40), 1)]
)
def test_unique(shape, dim):
    a = np.random.default_rng(3).integers(0, 3, shape)
    found, inverse, counts = torch.unique(
        torch.from_numpy(a), return_inverse=True, return_counts=True, dim=dim
    )
    expected = np.unique(a, return_inverse=True, return_counts=True, axis=dim)
    same(found, expected[0])
    same(inverse, expected[1].reshape(inverse.shape))
    same(counts, expected[2])


def test_unique_consecutive():
    x = torch.tensor([1, 1, 2, 2, 2, 1])
    found, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    assert found.tolist() == [1, 2, 1]
    assert inverse.tolist() == [0, 0, 1, 1, 1, 2]
    assert counts.tolist() == [2, 3, 1]


@pytest.mark.parametrize("density", [False, True])
def test_histograms(density):
    rng = np.random.default_rng(5)
    points, weight = rng.random((200, 2)), rng.random(200)
    found, edges = torch.histogram(torch.from_numpy(points[:, 0].copy()), 7, density=density)
    expected = np.histogram(points[:, 0], 7, density=density)
    np.testing.assert_allclose(found.numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(edges.numpy(), expected[1], rtol=1e-12)
    found, edges = torch.histogramdd(
        torch.from_numpy(points), [3, 4], weight=torch.from_numpy(weight), density=density
    )
    expected = np.histogramdd(points, [3, 4], weights=weight, density=density)
    np.testing.assert_allclose(found.numpy(), expected[0], rtol=1e-12)
    for one, other in zip(edges, expected[1], strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12)


@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize("function", [torch.unique, torch.unique_consecutive])
def test_a_gradient_through_unique_is_refused(function, dim):
    x = torch.ones(3, 2, requires_grad=True)
    values = function(x, dim=dim)
    assert values.requires_grad and not function(x.detach(), dim=dim).requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for '.*unique.*' is not implemented"):
        values.sum().backward()
