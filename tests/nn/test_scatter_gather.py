"""nn.parallel's scatter and gather: trees, devices and their errors, and pieces on GPUs."""

import sys
from collections import namedtuple

import pytest

import rushlight as torch
from rushlight.nn import parallel
from rushlight.nn.parallel import scatter_gather

Pair = namedtuple("Pair", "a b")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize(
    ("tree", "parts"),
    [
        ({"a": 1}, [{"a": 1}, {"a": 1}]),
        (((1, 2), 3), [((1, 2), 3)] * 2),
        ([1, "x"], [[1, "x"]] * 2),
        (Pair(1, [2]), [Pair(1, [2])] * 2),
        ([], [[], []]),
        ((), [(), ()]),
    ],
)
def test_what_is_no_tensor_goes_to_every_gpu(tree, parts):
    got = parallel.scatter(tree, [0, 1])
    assert got == parts and [type(each) for each in got] == [type(tree)] * 2


def test_arguments_of_calls():
    scatter_kwargs = scatter_gather.scatter_kwargs
    assert scatter_kwargs((1,), {"a": 2}, [0, 1]) == (((1,), (1,)), ({"a": 2}, {"a": 2}))
    assert scatter_kwargs((), {"a": 2}, [0, 1]) == (((), ()), ({"a": 2}, {"a": 2}))
    assert scatter_kwargs((1,), None, [0, 1]) == (((1,), (1,)), ({}, {}))
    assert scatter_kwargs((), None, [0, 1]) == ((), ())


@pytest.mark.parametrize("devices", [["cpu"], [torch.device("cpu")]])
def test_the_cpu_is_no_place_to_scatter_to(devices):
    with pytest.raises(ValueError, match="^Expected a non cpu device, but got: cpu$"):
        parallel.scatter(torch.ones(4), devices)
    with pytest.raises(RuntimeError, match="at least one device"):
        parallel.scatter([torch.ones(4)], [])


def test_what_gather_refuses():
    ones = torch.ones(2)
    for outputs in ([ones, ones], [[ones], [ones]], [{"a": ones}, {"a": ones}], [Pair(ones, None)]):
        with pytest.raises(AssertionError, match="^Gather function not implemented for CPU tensors$"):
            parallel.gather(outputs, "cpu")
    with pytest.raises(ValueError, match="^All dicts must have the same number of keys$"):
        parallel.gather([{"a": 1}, {}], "cpu")
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        parallel.gather([1, 2], "cpu")
    with pytest.raises(ValueError, match="zip"):
        parallel.gather([[None], [None, None]], "cpu")
    assert parallel.gather([None, None], "cpu") is None


def test_is_namedtuple_is_deprecated():
    with pytest.warns(FutureWarning, match="`is_namedtuple` is deprecated"):
        assert scatter_gather.is_namedtuple(Pair(1, 2))
    with pytest.warns(FutureWarning):
        assert not scatter_gather.is_namedtuple((1, 2))


def test_names():
    assert parallel.scatter is scatter_gather.scatter and parallel.gather is scatter_gather.gather
    assert sys.modules["rushlight.nn.parallel.scatter_gather"] is scatter_gather


@needs_gpu
def test_pieces_and_their_gradients():
    x = torch.arange(6.0, requires_grad=True)
    first, second = parallel.scatter({"x": x}, [0, 0])
    assert first["x"].tolist() == [0, 1, 2] and second["x"].device == torch.device("cuda", 0)
    joined = parallel.gather([first["x"] * 2, second["x"]], "cpu")
    joined.sum().backward()
    assert joined.device.type == "cpu" and x.grad.tolist() == [2, 2, 2, 1, 1, 1]
    with pytest.warns(UserWarning, match="will instead unsqueeze"):
        assert parallel.gather([first["x"].sum(), second["x"].sum()], 0).tolist() == [3, 12]
