"""Sorting lines longer than one block of threads, in any layout, with equal elements and NaN."""

import pytest

import rushlight as torch

from .conftest import indices_of_64_bits

DEVICE = f"cuda:{min(torch.cuda.device_count(), 2) - 1}"


def inputs():
    x = torch.randn(3, 700)
    x[0, ::7], x[1, 5], x[2, :9], x[2, 600:] = float("nan"), float("inf"), 0.0, -0.0
    return {"float": x, "equal": torch.randint(5, (2, 1500)), "half": x.half(), "strided": x.t()[::2]}


@pytest.mark.parametrize("name", inputs())
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_as_on_the_cpu(name, descending):
    x = inputs()[name]
    y = x.to(DEVICE)
    for dim in (0, 1):
        values, indices = x.sort(dim=dim, descending=descending)
        ours = y.sort(dim=dim, descending=descending)
        assert torch.equal(ours.indices.cpu(), indices)
        assert torch.equal(ours.values.cpu().nan_to_num(9), values.nan_to_num(9))
        assert torch.equal(y.argsort(dim, descending).cpu(), indices)
        assert torch.equal(y.topk(2, dim, descending).indices.cpu(), x.topk(2, dim, descending).indices)
        assert torch.equal(y.kthvalue(2, dim).indices.cpu(), x.kthvalue(2, dim).indices)


def test_the_gradient_goes_where_elements_came_from():
    x = torch.randn(4, 300, requires_grad=True)
    y = x.detach().to(DEVICE).requires_grad_()
    for t in (x, y):
        (t.topk(5).values.sum() + t.sort(0).values.square().sum()).backward()
    assert torch.equal(y.grad.cpu(), x.grad)


@pytest.mark.parametrize("name", inputs())
def test_one_of_each_line(name):
    x = inputs()[name]
    y = x.to(DEVICE)
    for function in (torch.median, torch.nanmedian, torch.mode):
        for dim in (0, 1):
            for kept in (False, True):
                ours, theirs = function(y, dim, kept), function(x, dim, kept)
                assert torch.equal(ours.indices.cpu(), theirs.indices)
                assert torch.equal(ours.values.cpu().nan_to_num(9), theirs.values.nan_to_num(9))
    for function in (torch.median, torch.nanmedian):
        assert torch.equal(function(y).cpu().nan_to_num(9), function(x).nan_to_num(9))
        assert torch.equal(
            function(y[:0]).cpu().double().nan_to_num(9), function(x[:0]).double().nan_to_num(9)
        )


def test_the_mode_of_long_runs():
    x = torch.cat([torch.full((n,), v) for v, n in enumerate([700, 1300, 5, 1300, 1])])
    x = x[torch.randperm(len(x))]
    ours, theirs = x.to(DEVICE).mode(), x.mode()
    assert int(ours.values) == 1
    assert int(ours.indices) == int(theirs.indices)


def test_the_modes_of_several_lines_for_each_block():
    x = torch.randint(5, (7, 300))
    with indices_of_64_bits():
        ours, theirs = x.to(DEVICE).mode(1), x.mode(1)
    assert torch.equal(ours.values.cpu(), theirs.values)
    assert torch.equal(ours.indices.cpu(), theirs.indices)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("right", [False, True])
def test_searched_as_on_the_cpu(dtype, right):
    line = (torch.rand(3, 300) * 200).to(dtype).sort().values
    x = (torch.rand(3, 77) * 220).to(dtype)
    ours = torch.searchsorted(line.to(DEVICE), x.to(DEVICE), right=right)
    assert torch.equal(ours.cpu(), torch.searchsorted(line, x, right=right))
    strided = torch.searchsorted(line.to(DEVICE)[:, ::3], x.to(DEVICE), right=right)
    assert torch.equal(strided.cpu(), torch.searchsorted(line[:, ::3], x, right=right))
    ours = torch.bucketize(x.to(DEVICE), line[0].to(DEVICE), out_int32=True, right=right)
    assert torch.equal(ours.cpu(), torch.bucketize(x, line[0], out_int32=True, right=right))
    assert torch.equal(torch.bucketize(7, line[0].to(DEVICE)).cpu(), torch.bucketize(7, line[0]))


def test_searched_among_nan():
    nan = float("nan")
    line, x = torch.tensor([1.0, 2, nan, nan]), torch.tensor([nan, 0, 2, 3])
    for right in (False, True):
        ours = torch.searchsorted(line.to(DEVICE), x.to(DEVICE), right=right)
        assert torch.equal(ours.cpu(), torch.searchsorted(line, x, right=right))


def test_members():
    x, tests = torch.randint(50, (40, 9)), torch.randint(50, (20,))
    for invert in (False, True):
        ours = torch.isin(x.to(DEVICE), tests.to(DEVICE), invert=invert)
        assert torch.equal(ours.cpu(), torch.isin(x, tests, invert=invert))
    assert not torch.isin(x.to(DEVICE), tests.to(DEVICE)[:0]).any()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.int64, torch.bfloat16, torch.float32])
def test_unique_as_on_the_cpu(dtype):
    x = torch.randint(2 if dtype == torch.bool else 9, (300, 3)).to(dtype)
    for dim in (None, 0, 1):
        for function in (torch.unique, torch.unique_consecutive):
            ours = function(x.to(DEVICE), return_inverse=True, return_counts=True, dim=dim)
            theirs = function(x, return_inverse=True, return_counts=True, dim=dim)
            for one, other in zip(ours, theirs, strict=True):
                assert torch.equal(one.cpu(), other)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_numbers_counted(dtype):
    x = torch.randint(40, (3000,)).to(dtype)
    y = x.to(DEVICE)
    assert torch.equal(torch.bincount(y).cpu(), torch.bincount(x))
    assert torch.equal(torch.bincount(y[::2], minlength=90).cpu(), torch.bincount(x[::2], minlength=90))
    for weights in (torch.rand(3000), torch.rand(3000).double(), torch.randint(9, (3000,))):
        ours = torch.bincount(y, weights.to(DEVICE)).cpu()
        theirs = torch.bincount(x, weights)
        assert ours.dtype == theirs.dtype
        assert torch.allclose(ours, theirs, atol=1e-4)
    with pytest.raises(RuntimeError, match="bincount only supports 1-d non-negative integral inputs"):
        torch.bincount(torch.tensor([1, -1], device=DEVICE))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bins", [1, 7, 3000])
def test_bins_counted(dtype, bins):
    x = torch.randn(70, 90).to(dtype)
    for args in ((), (-1, 2), (0.5, 0.5)):
        assert torch.equal(torch.histc(x.to(DEVICE), bins, *args).cpu(), torch.histc(x, bins, *args))
        assert torch.equal(
            torch.histc(x.to(DEVICE).t()[3:], bins, *args).cpu(), torch.histc(x.t()[3:], bins, *args)
        )
    assert torch.equal(torch.histc(x.to(DEVICE)[:0], bins).cpu(), torch.histc(x[:0], bins))


def test_bins_that_there_are_not():
    x = torch.tensor([1.0, float("nan")], device=DEVICE)
    with pytest.raises(RuntimeError, match=r"torch.histc: range of \[nan, nan\] is not finite"):
        torch.histc(x)
    with pytest.raises(RuntimeError, match="torch.histc: max must be larger than min"):
        torch.histc(x, 5, 3, 2)
    assert float(torch.histc(x, 4, 0, 2).sum()) == 1


def test_histograms():
    x, weight = torch.randn(900), torch.rand(900)
    edges = torch.tensor([-2.0, -0.5, -0.5, 0.1, 3])
    for given in (None, weight):
        there = None if given is None else given.to(DEVICE)
        ours = torch.histogram(x.to(DEVICE), edges.to(DEVICE), weight=there)
        assert torch.allclose(ours.hist.cpu(), torch.histogram(x, edges, weight=given).hist, atol=1e-4)
        ours = torch.histogram(x.to(DEVICE), 6, range=(-1.0, 1.0), weight=there, density=True)
        theirs = torch.histogram(x, 6, range=(-1.0, 1.0), weight=given, density=True)
        assert torch.allclose(ours.hist.cpu(), theirs.hist, atol=1e-4)
