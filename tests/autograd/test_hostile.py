"""Autograd among the unkind: hooks that meddle, tensors that change, graphs that are deep or shared."""

import gc
import sys
import threading

import pytest

import op_samples as samples
import rushlight as torch
from helpers import gradients
from helpers.autograd import leaf
from rushlight import _C, autograd, nn, optim
from rushlight.autograd import Function
from rushlight.autograd.graph import saved_tensors_hooks

# ---- deep ----
DEEP = 200_000


def test_a_deep_chain_runs_and_is_freed():
    x = leaf(1)
    y = x
    for _ in range(DEEP):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    before = _C._live()["nodes"]
    del y
    assert _C._live()["nodes"] <= before - DEEP


def test_a_deep_chain_of_hooks_and_views_is_freed():
    x = leaf(2)
    y = x * 1
    for _ in range(DEEP // 10):
        y = y.view(2)
        before = y.detach()
        y.register_hook(lambda g, before=before: None)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_chain_of_leaves_is_freed():
    """Each leaf hangs on the hook of the next one, and on its gradient."""
    last = leaf(1)
    for _ in range(20_000):
        new = leaf(1)
        new.register_hook(lambda g, last=last: None)
        new.grad = last.detach()
        last = new
    (last * 2).backward()
    assert last.grad.item() == 3


@pytest.mark.parametrize("depth", [10, 1000])
def test_backward_within_backward(depth):
    class Nested(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = int(x.item())
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.left:
                with torch.enable_grad():
                    inner = torch.tensor(float(ctx.left - 1), requires_grad=True)
                    Nested.apply(inner).backward()
                return grad + inner.grad
            return grad

    x = torch.tensor(float(depth), requires_grad=True)
    limit = sys.getrecursionlimit()
    Nested.apply(x).backward()
    assert x.grad.item() == depth + 1
    assert sys.getrecursionlimit() == limit


def test_an_error_comes_out_of_deep_backwards():
    class Nested(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = int(x.item())
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if not ctx.left:
                raise KeyError("the innermost")
            with torch.enable_grad():
                Nested.apply(torch.tensor(float(ctx.left - 1), requires_grad=True)).backward()

    with pytest.raises(KeyError, match="the innermost"):
        Nested.apply(torch.tensor(200.0, requires_grad=True)).backward()
    assert torch.is_grad_enabled()


# ---- hooks that meddle ----
def test_hooks_may_drop_what_runs():
    x = leaf(3)
    held = {"y": x * 2}
    held["z"] = held["y"].exp()

    def drop(grad):
        held.clear()
        gc.collect()
        x.grad = None
        x._backward_hooks = None

    held["y"].register_hook(drop)
    x.register_hook(drop)
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
    held["z"].sum().backward()
    assert x.grad is None and not held


def test_a_hook_that_runs_the_same_graph_again():
    x = leaf(2)
    y = x * x
    total = y.sum()
    runs = []

    def again(grad):
        if len(runs) < 3:
            runs.append(1)
            total.backward(retain_graph=True)

    y.register_hook(again)
    total.backward(retain_graph=True)
    assert x.grad.tolist() == [8, 8]


def test_a_hook_does_not_change_the_grad_mode_of_the_run():
    x = leaf(2)
    y = x * 1
    y.register_hook(lambda g: torch.set_grad_enabled(True) and None)
    (y * x).sum().backward()
    assert not x.grad.requires_grad


def test_a_hook_that_takes_the_saved_tensors_away():
    x = leaf(2)
    packed = []

    def unpack(t):
        if packed:
            total = packed.pop()
            total.backward()  # frees what is being unpacked
        return t

    with saved_tensors_hooks(lambda t: t.clone(), unpack):
        total = x.exp().sum()
    packed.append(total)
    with pytest.raises(RuntimeError, match="second time|freed"):
        total.backward()
        total.backward()


def test_a_pack_hook_that_takes_to_save_away():
    contexts = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, *xs):
            contexts.append(ctx)
            ctx.save_for_backward(*[x * 2 for x in xs])
            return xs[0] * 2

        @staticmethod
        def backward(ctx, grad):
            return tuple(grad * s for s in ctx.saved_tensors)

    def pack(t):
        contexts[0].to_save = None
        return t

    xs = [leaf(3) for _ in range(20)]
    with saved_tensors_hooks(pack, lambda t: t):
        y = Kept.apply(*xs)
    contexts.clear()
    y.sum().backward()
    assert xs[19].grad.tolist() == [2, 2, 2]


def test_a_node_called_within_a_run_answers_all_its_gradients():
    x, many = leaf(2), [leaf(2) for _ in range(40)]
    joined = torch.cat(many)

    class Calling(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            assert all(g is not None for g in joined.grad_fn(torch.ones(80)))
            return grad

    assert autograd.grad(Calling.apply(x).sum(), [x])[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="shape"):
        joined.grad_fn(torch.ones(3))


def test_parameters_whose_hash_changes_the_list():
    armed = []

    class Odd(nn.Parameter):
        def __hash__(self):
            if armed:
                del params[1:]
                params.extend(nn.Parameter(torch.ones(2)) for _ in range(100))
            return id(self)

        def __eq__(self, other):
            return self is other

    step = optim.SGD([Odd(torch.ones(2)) for _ in range(3)], lr=0.1, momentum=0.9)
    params = step.param_groups[0]["params"]
    for p in params:
        p.grad = torch.ones(2)
    step.step()
    armed.append(1)
    step.step()
    assert len(params) == 101


# ---- tensors that change under their history ----
def test_sizes_that_change_between_two_calls():
    x = leaf(3)
    first = x * 2  # keeps what x looked like
    x.data = torch.ones(2, 3)
    x.select(1, 0).sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]
    x.grad = None
    x.data = torch.ones(3)
    first.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_sizes_of_a_result_that_change():
    x = leaf(3)
    y = x * 2
    y.data = torch.ones(4, 1, 5)
    z = y.select(2, 0).sum()
    with pytest.raises(RuntimeError, match=r"got \[4, 1, 5\] but expected shape compatible with \[3\]"):
        z.backward()


def test_a_gradient_of_more_dims_than_its_leaf_has_now():
    x = leaf(*[2] * 8)
    y = x.permute(7, 6, 5, 4, 3, 2, 1, 0)
    x.data = torch.ones(3)
    y.backward(torch.ones([2] * 8))
    assert x.grad.shape == (2,) * 8


OTHER = [(), (0,), (5,), (2, 1, 3), (1,) * 9]


@pytest.mark.parametrize("name", sorted(set(gradients.NAMES) & set(samples.OPERATORS)))
def test_no_derivative_trusts_what_it_saved(name):
    """The leaves get other memory of other sizes after the call: an error or a gradient, nothing else."""
    entry = samples.OPERATORS[name]
    for sample in samples.of(name)[:3]:
        for shape in OTHER:
            results, wanted = gradients.call(_C, entry, sample)
            for x in wanted:
                x.data = torch.ones(shape, dtype=torch.float64)
            for create in (False, True):
                try:
                    autograd.grad(
                        [r.sum() for r in results],
                        wanted,
                        allow_unused=True,
                        create_graph=create,
                        retain_graph=True,
                    )
                except (RuntimeError, IndexError, ValueError) as error:
                    assert str(error)


def test_what_cat_casts_gets_its_gradient():
    a, b = leaf(2), torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.cat([a, b]).sum().backward()
    assert a.grad.dtype == torch.float32 and a.grad.tolist() == b.grad.tolist() == [1, 1]


def test_saved_lists_may_hold_none():
    y = leaf(3, 4)[:, torch.tensor([0, 1])]
    assert y.grad_fn._saved_indices[0] is None
    assert y.grad_fn._saved_indices[1].tolist() == [0, 1]


# ---- threads ----
def in_threads(n, work):
    failures = []

    def run():
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return failures


@pytest.mark.threads
@pytest.mark.parametrize("size", [3, 100_000])  # below and above where kernels let other threads run
def test_threads_share_leaves(size):
    x = leaf(size)

    def work():
        for _ in range(20):
            (x * 2).sum().backward()

    assert not in_threads(4, work)
    assert x.grad.min().item() == x.grad.max().item() == 160


@pytest.mark.threads
def test_threads_share_a_graph():
    x = leaf(50_000)
    total = (x.exp() * x).tanh().sum()
    assert not in_threads(4, lambda: total.backward(retain_graph=True))
    shared = x.grad
    x.grad = None
    total.backward()
    assert torch.allclose(shared, x.grad * 4)


@pytest.mark.threads
def test_threads_free_a_graph_that_others_run():
    x = leaf(50_000)
    for _ in range(5):
        base = x * 1
        base[:10].mul_(x[:10].exp())
        total = (base.exp() * base).tanh().sum()
        failures = in_threads(4, lambda: total.backward())  # noqa: B023
        assert all("second time" in str(f) for f in failures) and len(failures) < 4


@pytest.mark.threads
@pytest.mark.races  # one steps while another computes with the same parameters
def test_threads_step_and_drop_gradients():
    params = [nn.Parameter(torch.ones(40_000)) for _ in range(3)]
    step = optim.SGD(params, lr=0.001, momentum=0.9)

    def work():
        for _ in range(20):
            sum((p * p).sum() for p in params).backward()
            step.step()
            step.zero_grad()

    failures = in_threads(3, work)
    assert all("modified by an inplace" in str(f) for f in failures)  # one steps while another runs
