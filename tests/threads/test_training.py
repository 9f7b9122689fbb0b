"""Python threads over the same module, optimiser and graph: the results are those of one thread."""

import copy
import gc
import threading

import pytest

import rushlight as torch
from helpers.threads import BIG, fewer, in_process, index, number, together
from rushlight import nn, optim
from rushlight.nn import functional as F

pytestmark = pytest.mark.threads


# ---- the same module, optimiser, graph ----
def make_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 256, 10)
    )


def test_threads_call_one_module():
    """Each input has its own answer, also where the first calls of all come at once."""
    net, inputs = make_net().eval(), [number(24, 3, 16, 16) for _ in range(4)]
    expected = [copy.deepcopy(net)(x) for x in inputs]

    def work(x, y):
        for _ in range(fewer(20)):
            assert torch.equal(net(x), y)

    together(*[lambda x=x, y=y: work(x, y) for x, y in zip(inputs, expected)])


def test_threads_step_one_optimiser():
    """Under a lock of the user the steps add up, whoever makes them."""

    def train(net, steps, threads):
        optimiser, lock = optim.SGD(net.parameters(), lr=0.01, momentum=0.9), threading.Lock()

        def work():
            for _ in range(steps // threads):
                with lock:
                    optimiser.zero_grad()
                    F.cross_entropy(net(x), to).backward()
                    optimiser.step()

        together(*[work] * threads)
        return list(net.parameters())

    x, to, net = number(24, 3, 16, 16), index(10, 24), make_net()
    ours = train(copy.deepcopy(net), 8, threads=4)
    assert all(torch.equal(a, b) for a, b in zip(ours, train(net, 8, threads=1), strict=True))


@pytest.mark.parametrize("size", [1, BIG])
def test_gradients_of_threads_add_up(size):
    """Backward into one leaf: no addition is lost, taken in place or not."""
    leaf, rounds = torch.zeros(size, requires_grad=True), fewer(40)

    def work(create_graph):
        for _ in range(rounds):
            (leaf * 2).sum().backward(create_graph=create_graph)

    together(*[lambda: work(False)] * 4)
    assert leaf.grad.min().item() == leaf.grad.max().item() == 8 * rounds
    leaf.grad = None


def test_a_collection_within_accumulation_loses_nothing():
    """Garbage may be collected wherever an object is made, and what it runs may add to the same leaf."""
    leaf, runs = torch.ones(3, requires_grad=True), []

    def collect(phase, info):
        if phase == "start" and len(runs) < 300:
            runs.append(1)
            with torch.enable_grad():
                (leaf * 1).sum().backward()

    threshold = gc.get_threshold()
    gc.callbacks.append(collect)
    try:
        gc.set_threshold(1)
        for _ in range(50):
            (leaf * leaf).sum().backward(create_graph=True)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collect)
    assert leaf.grad.tolist() == [100.0 + len(runs)] * 3
    leaf.grad = None


def test_a_collection_within_the_making_of_a_node_type():
    """Both find the same type, whichever was first."""
    in_process(
        "import gc, rushlight as torch\n"
        "x, seen = torch.ones(2, requires_grad=True), []\n"
        "def collect(phase, info):\n"
        "    if phase == 'start' and len(seen) < 40:\n"
        "        seen.append(None)\n"
        "        seen[-1] = x.asin().grad_fn\n"
        "gc.callbacks.append(collect)\n"
        "gc.set_threshold(1)\n"
        "seen.append(x.asin().grad_fn)\n"
        "gc.callbacks.clear()\n"
        "seen.append(x.asin().grad_fn)\n"
        "assert len({type(fn) for fn in seen}) == 1, seen\n"
    )


def test_threads_run_one_deep_graph():
    """A chain deeper than any stack, run by both at once."""
    leaf, depth = torch.ones(4, requires_grad=True), 3000 if fewer(100) < 100 else 30_000
    y = leaf
    for _ in range(depth):
        y = y * 1 + 0
    total = y.sum()
    together(*[lambda: total.backward(retain_graph=True)] * 2)
    assert leaf.grad.tolist() == [2.0] * 4


def test_threads_nest_backward_deeply():
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with torch.enable_grad():
                    inner = ctx.saved_tensors[0].detach().requires_grad_()
                    Nested.apply(inner, ctx.depth - 1).sum().backward()
                    assert inner.grad.tolist() == [2.0] * 3
            return grad * 2, None

    def work():
        leaf = torch.ones(3, requires_grad=True)
        Nested.apply(leaf, 150).sum().backward()
        assert leaf.grad.tolist() == [2.0] * 3

    together(*[work] * 3)
