"""Code that the collector runs inside of an allocation may change any tensor: what a function read before
stays right, and nothing unfinished is to be seen. test_gc_points.py does it everywhere, in builds for that.
"""

import gc
import warnings

import numpy as np
import pytest

import rushlight
from rushlight import _C, nn


class Trap:
    """Garbage whose finalizer runs inside of some allocation (CPython 3.11; later ones wait longer)."""

    def __init__(self, run):
        self.run, self.me = run, self

    def __del__(self):
        self.run()


@pytest.fixture
def eager_collector():
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def test_tolist_reads_what_was_there(eager_collector):
    x, spare = _C.arange(3000).view(1000, 3), []

    def run():
        x.data = _C.zeros(1, dtype=_C.int64)
        spare.extend(_C.full((1000, 3), 7, dtype=_C.int64) for _ in range(20))  # where it was

    expected = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(1000)]
    Trap(run)
    got = x.tolist()
    gc.collect()
    assert got in (expected, [0]) and x.shape == (1,)


def test_half_made_tensors_are_hidden():
    """What gc.get_objects() shows is whole."""
    x = _C.ones((2, 3)).requires_grad_()
    for t in (x + 1, x[0], x.detach(), x.sum(), _C.tensor([1]), _C.from_numpy(np.zeros(2)), x.max(0)[1]):
        assert gc.is_tracked(t)


def test_from_numpy_looks_when_it_has_warned(monkeypatch):
    array = np.zeros((2, 3))
    array.flags.writeable = False
    monkeypatch.setattr(warnings, "showwarning", lambda *_: array.resize((6,), refcheck=False))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert tuple(_C.from_numpy(array).shape) == (6,)


def test_sgd_looks_when_all_tensors_are_found():
    """Finding a buffer hashes the parameter, which may be anybody's code."""

    class Changing(nn.Parameter):
        def __hash__(self):
            for t in armed:
                t.data = _C.zeros(1000, dtype=_C.complex64)
            return id(self) >> 4

    armed = []
    middle = nn.Parameter(_C.ones(1000))
    parameters = [nn.Parameter(_C.ones(1000)), middle, Changing(_C.ones(1000))]
    sgd = rushlight.optim.SGD(parameters, lr=0.1, momentum=0.9)
    for p in parameters:
        p.grad = _C.ones(1000)
    sgd.step()
    armed += [middle, middle.grad, sgd.state[middle]["momentum_buffer"]]
    with pytest.raises((RuntimeError, NotImplementedError)):
        sgd.step()
    armed.clear()
