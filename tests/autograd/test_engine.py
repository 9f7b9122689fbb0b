"""The engine and what hangs on it: depth, threads, memory, failing allocations, collected cycles."""

import copy
import gc
import pickle
import threading
import weakref

import pytest

import rushlight as torch
from rushlight import _C, nn
from rushlight.autograd import Function, grad, graph


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


class Scale(Function):
    @staticmethod
    def forward(ctx, x, by=2.0):
        result = x * by
        ctx.save_for_backward(x, result)
        ctx.by = by
        return result

    @staticmethod
    def backward(ctx, gradient):
        x, result = ctx.saved_tensors
        assert result.requires_grad and result.grad_fn is ctx and x.requires_grad
        return gradient * ctx.by, None


class Nested(Function):
    """Its backward runs a backward of its own, ``depth`` times one in another."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        if ctx.depth:
            with torch.enable_grad():
                inner = leaf(1.0)
                Nested.apply(inner, ctx.depth - 1).backward()
                assert inner.grad.item() == 1
        return gradient, None


# ---- depth ----
def test_200000_operators_run_backward_and_free_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(200_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1


def test_a_deep_chain_of_functions_is_freed_without_recursion():
    y = leaf(1.0)
    for _ in range(20_000):
        y = Scale.apply(y, 1.0)
    y.backward()


def test_backward_within_backward():
    x = leaf(1.0)
    Nested.apply(x, 60).backward()
    assert x.grad.item() == 1


# ---- threads ----
@pytest.mark.threads
def test_threads_with_graphs_of_their_own_share_leaves():
    shared, wrong = leaf(3.0), []

    def work(number):
        own = leaf(float(number))
        for _ in range(100):
            if grad((own * shared).exp().log(), own)[0].item() == 0:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and shared.grad is None


@pytest.mark.threads
def test_modes_belong_to_their_thread():
    seen = []
    with torch.no_grad(), graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        other = threading.Thread(target=lambda: seen.append((leaf() * leaf()).requires_grad))
        other.start()
        other.join()
    assert seen == [True]


# ---- memory ----
def test_saved_tensors_are_released_by_backward():
    x = leaf()
    y = Scale.apply(x.exp()).sin()
    held = weakref.ref(y.grad_fn.next_functions[0][0].saved_tensors[0].grad_fn)
    before = _C._live()["tensors"]
    y.sum().backward()
    assert _C._live()["tensors"] < before
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        y.grad_fn.next_functions[0][0].saved_tensors  # noqa: B018
    assert held() is not None  # the history itself lives as long as y does
    del y
    assert held() is None


def test_a_graph_that_is_never_run_is_freed():
    y = Scale.apply(leaf()).exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def run_with_hooks_that_refer_back():
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda module, inner, outer: (m, None)[1])
    m.register_full_backward_pre_hook(lambda module, outer: (m, None)[1])
    m.weight.register_hook(lambda g: (m, None)[1])
    m.weight.register_post_accumulate_grad_hook(lambda p: (m, None)[1])
    y = m(leaf())
    y.register_hook(lambda g: (y, None)[1])
    y.grad_fn.register_hook(lambda inner, outer: (y, None)[1])
    y.grad_fn.metadata["self"] = y
    y.sum().backward()
    return weakref.ref(m), weakref.ref(y.grad_fn)


def test_hooks_that_refer_to_their_tensor_node_or_module_are_collected():
    gone = run_with_hooks_that_refer_back()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_ctx_that_refers_to_its_result_is_collected():
    class Own(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x
            ctx.me = ctx
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    y = Own.apply(leaf())
    y.grad_fn.result = y
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


def step():
    """One training step with everything that may fail in between."""
    x = leaf()
    module = nn.Linear(2, 2)
    module.register_full_backward_hook(lambda m, inner, outer: (inner[0] * 2,))
    x.register_hook(lambda g: g * 2)
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = Scale.apply(module(x)).exp()
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    z = y * 1
    view = z[:1]
    view.mul_(y[1:])
    z.sum().backward()
    return x.grad


def test_failing_allocations_leave_nothing_behind():
    expected, whole = step(), 0
    for n in range(4000):
        before = _C._live()
        _C._fail_alloc(n)
        try:
            result = step()
        except (MemoryError, RuntimeError):
            result = None
        finally:
            _C._fail_alloc(-1)
        whole, result = whole + (result is not None), None
        if whole == 5:  # some memory is only asked for to be faster: one whole step says little
            break
        gc.collect()
        assert _C._live() == before
    assert torch.allclose(step() * 0 + 1, expected * 0 + 1) and n > 10


def test_a_failed_backward_can_be_run_again():
    x = leaf()
    y = (x * x).sum()
    handle = x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert x.grad.tolist() == [2, 4]


# ---- saved tensors that were detached ----
DETACHED = (
    r"^Trying to use a saved tensor that has been detached in-place, i.e. with .detach_\(\).This is not "
    r"supported, please use out-of-place `.detach\(\)` instead$"
)


@pytest.mark.parametrize(
    "run",
    [
        lambda y: (y**3).sum(),
        lambda y: (y * y).sum(),
        lambda y: nn.functional.mse_loss(y, torch.zeros(2)),
        lambda y: nn.functional.mse_loss(torch.zeros(2), y),
    ],
)
@pytest.mark.parametrize("create", [False, True])
def test_what_was_detached_after_it_was_saved_has_no_derivative(run, create):
    """Else the second derivative would lose its way to the leaf without a word."""
    x = leaf()
    y = x * 2
    total = run(y)
    y.detach_()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=DETACHED):
            grad(total, x, create_graph=create, retain_graph=True)
    y.requires_grad_()
    with pytest.raises(RuntimeError, match=DETACHED):
        grad(total, x, create_graph=create)


def test_the_second_derivative_of_what_was_detached():
    x, by = leaf(), torch.ones((), requires_grad=True)
    y = x * 2
    (first,) = grad(nn.functional.mse_loss(y, torch.zeros(2)), x, by, create_graph=True)
    y.detach_()
    with pytest.raises(RuntimeError, match=DETACHED):
        grad(first.sum(), by)


def test_detached_and_written():
    x = leaf()
    y = x * 2
    z = y * y
    y.detach_()
    assert z.grad_fn._saved_self is y  # looking is free
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match=DETACHED):
        grad(z.sum(), x)
    with pytest.raises(RuntimeError, match="output 0 of Mul, is at version 1; expected version 0"):
        z.grad_fn._saved_self  # noqa: B018


def test_detached_but_not_needed():
    x = leaf()
    y = x * 2
    z, e = (y * torch.ones(2)).sum(), y.exp()
    total = e.sum()
    y.detach_()
    e.detach_()  # a result: its node knows it
    assert grad(z, x, retain_graph=True)[0].tolist() == [2, 2]
    (first,) = grad(total, x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert torch.allclose(second, first * 2)


def test_a_function_gets_what_was_detached():
    class Squared(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2 * ctx.saved_tensors[0]

    x = leaf()
    y = x * 2
    z = Squared.apply(y)
    y.detach_()
    assert z.grad_fn.saved_tensors[0] is y
    assert grad(z.sum(), x)[0].tolist() == [8, 16]


def test_packed_tensors_have_their_place_though_they_were_detached():
    x = leaf()
    y = x * 2
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        z = y * y
    y.detach_()
    (first,) = grad(z.sum(), x, create_graph=True)
    assert first.tolist() == [8, 16] and grad(first.sum(), x)[0].tolist() == [8, 8]


def test_a_view_of_what_was_detached_keeps_its_history():
    x = leaf()
    y = x * 2
    view = y[:1]
    z = view * view
    y.detach_()
    (first,) = grad(z.sum(), x, create_graph=True)
    assert first.tolist() == [8, 0] and first.requires_grad


@pytest.mark.parametrize("change", ["detach_", "requires_grad_"])
def test_leaves_that_stop_wanting_a_gradient(change):
    """A leaf is no longer differentiated by; that is what was asked for, and no error."""
    x, w = leaf(), leaf(3.0, 4.0)
    z = (x * x * w).sum()
    x.detach_() if change == "detach_" else x.requires_grad_(False)
    (first,) = grad(z, w, create_graph=True)
    assert first.tolist() == [1, 4] and first.requires_grad
    z.backward()
    assert x.grad is None and w.grad.tolist() == [1, 4]


# ---- errors keep their place ----
def test_a_failing_backward_keeps_its_traceback():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("here")

    with pytest.raises(ValueError, match="^here$") as error:
        Failing.apply(leaf()).sum().backward()
    assert error.traceback[-1].name == "backward"


def test_anomaly_names_the_forward_call():
    def forward_call():
        return leaf(-1.0).sqrt()

    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning) as caught:
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output.$"):
            forward_call().sum().backward()
    text = str(caught[0].message)
    assert (
        text.startswith("Error detected in SqrtBackward0. Traceback of forward call")
        and "forward_call" in text
    )
    assert not torch.is_anomaly_enabled()


# ---- nodes ----
def test_nodes_are_told_apart_by_their_types():
    y = leaf() * 2
    z = Scale.apply(y)
    assert type(y.grad_fn).__name__ == "MulBackward0" and type(y.grad_fn) is type((leaf() * 3).grad_fn)
    assert type(z.grad_fn) is Scale._backward_cls and repr(z.grad_fn).startswith("<")
    assert isinstance(y.grad_fn, graph.Node) and isinstance(z.grad_fn, graph.Node)
    for kind in (graph.Node, type(y.grad_fn)):
        with pytest.raises(TypeError, match="^cannot create"):
            kind()


def test_a_node_can_be_called():
    x = leaf()
    node = (x * 3).grad_fn
    assert node(torch.ones(2))[0].tolist() == [3, 3] and node(None) == (None, None)
    with pytest.raises(TypeError, match="^expected 1 arguments, got 2 instead$"):
        node(None, None)
    with pytest.raises(TypeError, match="^expected Variable, but got int at position 0$"):
        node(3)


def test_writing_a_view_changes_what_its_base_and_it_lead_to():
    x = leaf()
    base = x * 1
    view = base[:1]
    view.mul_(5)
    assert grad(base.sum(), x, retain_graph=True)[0].tolist() == [5, 1]
    assert grad(view.sum(), x, retain_graph=True)[0].tolist() == [5, 0]


@pytest.mark.parametrize("mode", [1, "x", None])
def test_recording_is_switched_by_truth_values_alone(mode):
    with pytest.raises(
        TypeError, match=r"^set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool"
    ):
        torch.set_grad_enabled(mode)
    assert torch.is_grad_enabled()


def test_hooks_are_lost_with_a_warning():
    x = leaf()
    x.register_hook(print)
    with pytest.warns(UserWarning, match="^backward hook <built-in function print> on tensor will not be"):
        assert pickle.loads(pickle.dumps(x))._backward_hooks is None
    assert copy.deepcopy(x)._backward_hooks is None


@pytest.mark.parametrize("name", ["uniform_", "normal_", "bernoulli_", "random_"])
def test_random_numbers_overwrite_the_history(name):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    getattr(y, name)()
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "call",
    (
        lambda x, y: x / y,
        torch.atan2,
        torch.logaddexp,
        torch.hypot,
        lambda x, y: x.pow(y),
        lambda x, y: torch.addcdiv(x, x, y),
        lambda x, y: torch.cumprod(x, 0),
        lambda x, y: torch.stack([x, y]).prod(0),
    ),
)
def test_backward_asks_hooks_once_for_each_saved_tensor(call):
    inputs = leaf(), leaf(3.0, 0.5)
    asked = []

    def pack(tensor):
        asked.append(0)
        return len(asked) - 1, tensor.detach()

    def unpack(packed):
        asked[packed[0]] += 1
        return packed[1]

    expected = grad(call(*inputs).sum(), inputs, allow_unused=True)
    with graph.saved_tensors_hooks(pack, unpack):
        out = call(*inputs)
    for got, wanted in zip(grad(out.sum(), inputs, allow_unused=True), expected, strict=True):
        assert (got is wanted is None) or got.tolist() == wanted.tolist()
    assert asked and set(asked) == {1}
