"""Autograd and memory: allocations that fail, cycles that are collected, what stays and what does not."""

import gc
import sys
import weakref
from functools import partial

import pytest

import rushlight as torch
from helpers.autograd import Doubled, leaf
from rushlight import _C, nn, optim
from rushlight.autograd import Function
from rushlight.autograd.graph import saved_tensors_hooks


@pytest.fixture(autouse=True)
def _no_failure_left():
    yield
    _C._fail_alloc(-1)


# ---- memory that ends ----
def small_model():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    return model, torch.ones(2, 1, 6, 6), torch.tensor([0, 2])


def train_once(model, x, target):
    """One pass with in-place writes into views, hooks of every kind and gradients that add up."""
    h = model(x) * 1
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    part = h[:, 1:]
    part.mul_(model[4].bias[1:].exp())
    h = Doubled.apply(torch.cat([h, h], 0).t()).t()[:2]
    loss = nn.functional.cross_entropy(h, target) + (h - 1).pow(2).mean()
    loss.grad_fn.register_hook(lambda inputs, outputs: None)
    loss.backward()
    return [p.grad for p in model.parameters()]


def failing(n, call):
    """Runs call() with the n-th allocation failing: did it fail, and what did it answer?"""
    _C._fail_alloc(n)
    try:
        return False, call()
    except (RuntimeError, MemoryError) as error:
        assert "memory" in str(error) or isinstance(error, MemoryError)
        return True, None
    finally:
        _C._fail_alloc(-1)


def test_recording_and_backward_survive_failing_allocations():
    """Some failures are harmless: a weight that cannot be packed is used as it is."""
    model, x, target = small_model()
    expected = train_once(model, x, target)
    gc.collect()
    failures = 0
    for n in range(150):
        model.zero_grad()
        before = _C._live()
        failed, grads = failing(n, lambda: train_once(model, x, target))
        failures += failed
        if not failed:
            assert all(torch.allclose(a, b) for a, b in zip(grads, expected, strict=True))
        del grads
        model.zero_grad()
        gc.collect()
        left = _C._live()
        assert left["tensors"] <= before["tensors"] and left["nodes"] <= before["nodes"]
    assert failures > 30 and not failed


def test_a_failed_backward_leaves_a_graph_that_runs_again():
    model, x, target = small_model()
    failures = 0
    for n in range(60):
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        failed, _ = failing(n, lambda: loss.backward(retain_graph=True))  # noqa: B023
        failures += failed
        model.zero_grad()
        loss.backward()
        assert all(p.grad is not None for p in model.parameters())
    assert failures > 10 and not failed


# ---- cycles ----
class Marker:
    """What a cycle must give back."""


def cycle_hook():
    y = leaf(2) * 2
    y.register_hook(lambda g, y=y: None)
    return y


def cycle_leaf_hook():
    x = leaf(2)
    x.register_hook(lambda g, x=x: None)
    return x * 2


def cycle_post_hook():
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda t, x=x: None)
    return x * 2


def cycle_node_hooks():
    y = leaf(2).exp()
    y.grad_fn.register_hook(lambda a, b, y=y: None)
    y.grad_fn.register_prehook(lambda a, y=y: None)
    return y


def cycle_metadata():
    y = leaf(2).exp()
    y.grad_fn.metadata["me"] = y
    return y


def cycle_saved():
    x = leaf(2)
    y = x * x
    x.node = y.grad_fn  # x is saved by the node that it holds
    return y


def cycle_grad():
    x = leaf(2)
    (x**3).sum().backward(create_graph=True)
    return x


def cycle_ctx():
    class Held(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.x

    y = Held.apply(leaf(2))
    y.grad_fn.y = y
    return y


def cycle_ctx_saves():
    y = Doubled.apply(leaf(2) * 1)
    y.grad_fn.saved_tensors[0].out = y
    return y


def cycle_slices():
    base = leaf(3) * 1
    base[:1].mul_(leaf(1))
    base.grad_fn.register_hook(lambda a, b, base=base: None)
    return base


def cycle_packed():
    held = []
    with saved_tensors_hooks(lambda t: (t, held), lambda p: p[0]):
        y = leaf(2).exp()
    held.append(y)
    return y


def cycle_module():
    model = nn.Linear(2, 2)
    for p in model.parameters():
        p.register_hook(lambda g, model=model: None)
    model.register_full_backward_hook(lambda m, i, o, model=model: None)
    y = model(leaf(1, 2))
    model.last = y
    return y


CYCLES = [value for name, value in sorted(globals().items()) if name.startswith("cycle_")]


@pytest.mark.parametrize("run", [False, True])
@pytest.mark.parametrize("make", CYCLES)
def test_cycles_are_collected(make, run):
    gc.collect()
    before = _C._live()
    y = make()
    y.marker = Marker()
    gone = weakref.ref(y.marker)
    if run:
        y.sum().backward()
    del y
    gc.collect()
    assert gone() is None
    assert {kind: n for kind, n in _C._live().items() if n > before[kind]} == {}


def test_a_collected_graph_leaves_its_leaves_whole():
    """The node of a leaf dies in a cycle; the leaf lives on and gets another."""
    x = leaf(2)
    for _ in range(20):
        y = x * 2
        y.register_hook(lambda g, y=y: None)
        del y
        gc.collect()
        (x * 3).sum().backward()
    assert x.grad.tolist() == [60, 60]


def test_what_is_freed_may_run_anything():
    """Destructors that raise, make nodes, free other graphs and collect, while a graph is freed."""
    x = leaf(2)
    seen = []

    class Loud:
        def ignore(self, grad):
            return None

        def __del__(self):
            seen.append(1)
            other = x * 2
            for _ in range(50):
                other = other + 1
            del other
            gc.collect()
            raise ValueError("ignored")

    y = x * 1
    for _ in range(20):
        y = y * 2
        y.register_hook(partial(Loud.ignore, Loud()))
        y.grad_fn.metadata["loud"] = Loud()
    raised = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda args: raised.append(type(args.exc_value))
    try:
        del y
    finally:
        sys.unraisablehook = hook
    assert len(seen) == 40 and raised == [ValueError] * 40
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


# ---- what stays ----
def test_training_keeps_memory_flat():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    step = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, target = torch.ones(3, 4), torch.zeros(3, 2)

    def train(n):
        for _ in range(n):
            step.zero_grad()
            nn.functional.mse_loss(model(x), target).backward()
            step.step()

    train(3)
    before = _C._live()
    gc.disable()
    try:
        train(10_000)
        after = _C._live()
    finally:
        gc.enable()
    assert after == before


def test_backward_releases_everything_saved():
    before = _C._live()
    x, w = leaf(40), leaf(10)
    base = x * x
    base[:10].mul_(w.exp())
    y = Doubled.apply(base.tanh())
    total = (y.reshape(4, 10) @ w).sum()
    total.backward()
    alive = (x, w, x.grad, w.grad, base, y, total)
    assert _C._live()["tensors"] - before["tensors"] == len(alive)
    assert _C._live()["storages"] - before["storages"] == len(alive)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="second time"):
            total.backward()
    with pytest.raises(RuntimeError, match="freed"):
        base.grad_fn(torch.ones(40))  # CopySlices, whose node within saved w.exp()
