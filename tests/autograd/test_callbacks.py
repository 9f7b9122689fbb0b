"""User code that runs in the middle of autograd: destructors, callbacks of weak references and of the
collector. It finds every tensor and node whole, and what it does counts."""

import gc
import itertools
import warnings
import weakref

import pytest

import rushlight as torch
from rushlight import autograd, nn
from rushlight.autograd import Function


def leaf(*shape):
    return torch.ones(shape, requires_grad=True)


def accumulator(x):
    return (x * 1).grad_fn.next_functions[0][0]


# ---- a node that dies ----
TAKES = {
    "product": lambda x: x * 3,
    "view": lambda x: x.view(3) * 3,
    "grad_fn of a view": lambda x: (x.view(3).grad_fn, x * 3)[1],
    "chain": lambda x: (x * 1).exp().log() * 3,
    "joined": lambda x: torch.cat([x, x])[:3] * 3,
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_a_leaf_does_not_hand_out_its_dying_node(take):
    x, taken = leaf(3), []
    ref = weakref.ref(accumulator(x), lambda _: None)
    assert ref() is None  # it dies with the graph
    node = accumulator(x)
    ref = weakref.ref(node, lambda _: taken.append(take(x)))
    del node
    others = [leaf(3) * 2 for _ in range(10)]  # nodes in the memory that was freed
    assert ref() is None and len(taken) == 1
    assert taken[0].grad_fn is not None
    taken.pop().sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), 3.0))
    assert all(o.grad_fn is not None for o in others)


def test_backward_while_a_node_dies():
    x, seen = leaf(3), []

    def again(_):
        seen.append(autograd.grad((x * 5).sum(), x)[0].tolist())
        (x * 2).sum().backward()

    node = accumulator(x)
    ref = weakref.ref(node, again)
    del node
    assert ref() is None and seen == [[5, 5, 5]]
    (x * 4).sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


def test_hooks_while_a_node_dies():
    x, seen = leaf(3), []
    node = accumulator(x)
    ref = weakref.ref(node, lambda _: x.register_hook(lambda g: seen.append(1)))
    del node
    (x * 4).sum().backward()
    assert ref() is None and seen == [1]


def test_the_collector_meets_the_node_of_a_living_leaf():
    """Code objects are not known to the collector: they die while others of its garbage are still whole."""
    x, taken = leaf(3), []
    garbage = [compile("1", "unseen", "eval")]
    ref = weakref.ref(garbage[0], lambda _: taken.append(x * 3))
    node = accumulator(x)
    node.register_hook(lambda a, b, garbage=garbage: None)
    garbage.insert(0, node)
    node.metadata["self"] = node
    del garbage, node
    gc.collect()
    (x * 2).sum().backward()
    for y in taken:
        y.sum().backward()
    assert ref() is None and len(taken) == 1 and x.grad.tolist() == [5, 5, 5]


# ---- a tensor that changes its history ----
def test_a_result_has_its_new_place_when_the_old_node_dies():
    refs, seen = [], []

    class Piece(Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                piece = (x * 1).unbind()[2]
            assert piece.output_nr == 2

            def look(_):
                seen.append((piece.output_nr, type(piece.grad_fn).__name__, piece.requires_grad))
                piece.backward(retain_graph=True)

            refs.append(weakref.ref(piece.grad_fn, look))
            return piece

        @staticmethod
        def backward(ctx, grad):
            return grad.expand(3)

    x = leaf(3)
    y = Piece.apply(x)
    assert seen == [(0, "PieceBackward", True)]
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]
    refs.clear()


def test_a_view_has_its_new_node_when_the_old_one_dies():
    x, seen = leaf(3), []
    base = x * 1
    view = base[1:]
    ref = weakref.ref(view.grad_fn, lambda _: seen.append(autograd.grad(view.sum(), x, retain_graph=True)))
    base.mul_(2)
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    assert ref() is None and seen[0][0].tolist() == [0, 2, 2]
    view.sum().backward()
    assert x.grad.tolist() == [0, 2, 2]


def test_detached_is_detached_when_the_node_dies():
    x, seen = leaf(3), []
    y = x * 2
    ref = weakref.ref(y.grad_fn, lambda _: seen.append((y.requires_grad, y.grad_fn, y.is_leaf)))
    y.detach_()
    assert ref() is None and seen == [(False, None, True)]


# ---- what a node saved is dropped ----
def test_a_node_is_freed_before_what_it_saved():
    x, seen = leaf(3), []
    base = torch.full((3,), 2.0)
    total = torch.pow(base, x).sum()

    def again(_):
        with pytest.raises(RuntimeError, match="second time"):
            total.backward()
        seen.append(1)

    ref = weakref.ref(base, again)
    del base
    total.backward()
    assert ref() is None and seen == [1]
    assert torch.allclose(x.grad, torch.full((3,), 2 * 0.6931472))


def test_saved_tensors_that_are_given_once():
    refs, seen = [], []

    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            more = [x * 2, x * 3]

            def look(_):
                with pytest.raises(RuntimeError, match="can only be accessed once"):
                    ctx.saved_tensors  # noqa: B018
                seen.append(1)

            refs.append(weakref.ref(more[0], look))
            ctx.save_for_backward(*more)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return sum(t for t in ctx.saved_tensors) * grad

    x = leaf(3)
    Once.apply(x).sum().backward()
    assert seen == [1] and x.grad.tolist() == [5, 5, 5]
    refs.clear()


def test_a_subclass_that_comes_back_keeps_its_gradient():
    kept = []

    class Returning(nn.Parameter):
        def __del__(self):
            kept.append(self)

    x = leaf(3)
    x.grad = Returning(torch.ones(3))
    x.grad.grad = torch.full((3,), 7.0)
    del x
    assert kept[0].grad.tolist() == [7, 7, 7]
    del Returning.__del__
    kept.clear()


class Derived(nn.Parameter):
    pass


@pytest.mark.parametrize(
    "make", [torch.ones, lambda n: nn.Parameter(torch.ones(n)), lambda n: Derived(torch.ones(n))]
)
def test_a_long_chain_of_gradients_is_freed(make):
    first = last = make(1)
    for _ in range(100_000):
        last.grad = make(1)
        last = last.grad
    gone = weakref.ref(last)
    del first, last
    assert gone() is None


# ---- hooks and reports ----
def test_an_anomaly_report_among_changing_metadata():
    class Parent:
        def __init__(self):
            self.metadata = {"traceback_": ["line\n" * 100], "parent_": None}

        def name(self):
            self.metadata.clear()
            return "Parent"

    x = leaf(1)
    with autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        y = torch.sqrt(x - 1) * 0
        y.grad_fn.next_functions[0][0].metadata["parent_"] = Parent()
        with pytest.raises(RuntimeError, match="returned nan"):
            y.backward()
    assert any("induced by Parent" in str(w.message) and "line" in str(w.message) for w in said)


def test_hooks_that_replace_what_runs_them():
    x = leaf(3)
    y = x * 2
    node, seen = y.grad_fn, []

    def hook(name, result=None):
        def run(*_):
            seen.append(name)
            x._backward_hooks = y._backward_hooks = x._post_accumulate_grad_hooks = None
            node._backward_hooks and node._backward_hooks.clear()
            gc.collect()
            return result

        return run

    y.register_hook(hook("tensor"))
    node.register_prehook(hook("before"))
    node.register_hook(hook("after"))
    x.register_hook(hook("leaf"))
    y.sum().backward()
    assert seen == ["tensor", "before"] and x.grad.tolist() == [2, 2, 2]


# ---- the collector runs inside of any allocation ----
def at_each_collection(work, meddle):
    """Runs work() again and again, collecting after each `every` allocations; meddle() runs once in each, in
    the collection number `at`."""
    threshold = gc.get_threshold()
    for every in itertools.count(1):
        for at in itertools.count():
            count, done = itertools.count(), []

            def callback(phase, info, at=at, count=count, done=done):
                if phase == "start" and next(count) == at:
                    done.append(1)
                    meddle()

            gc.collect()
            gc.callbacks.append(callback)
            gc.set_threshold(every)
            try:
                result = work()
            finally:
                gc.set_threshold(*threshold)
                gc.callbacks.remove(callback)
            yield result
            if not done:
                break
        if not at:
            break


def test_a_leaf_has_one_node_whoever_asks_meanwhile():
    place, taken = [], []

    def work():
        place[:] = [leaf(3)]
        return place[0] * 2

    def meddle():
        taken.extend(x * 3 for x in place)

    for y in at_each_collection(work, meddle):
        x = place[0]
        assert autograd.grad(y.sum(), x)[0].tolist() == [2, 2, 2]
        for z in taken:
            assert autograd.grad(z.sum(), x)[0].tolist() == [3, 3, 3]
        taken.clear()


def test_a_tensor_has_one_dict_of_hooks_whoever_registers_meanwhile():
    place, seen = [], []

    def work():
        place[:] = [leaf(3)]
        y = place[0] * 2
        place.append(y)
        for t in place:
            t.register_hook(lambda g: seen.append("own"))
            t.grad_fn and t.grad_fn.register_hook(lambda a, b: seen.append("own"))
        return y

    def meddle():
        for t in place:
            t.register_hook(lambda g: seen.append("other"))
            t.grad_fn and t.grad_fn.register_hook(lambda a, b: seen.append("other"))
            assert not t.grad_fn or t.grad_fn.metadata == {}

    for y in at_each_collection(work, meddle):
        seen.clear()
        y.sum().backward()
        assert seen.count("own") == 3 and seen.count("other") in (0, 1, 3)  # neither, x alone, x and y


@pytest.mark.parametrize("shape", [(2, 2), (1,) * 9, (2, 1) * 5])
def test_views_that_get_other_memory_while_their_history_is_written(shape):
    place, outcomes = [], []

    def work():
        x = leaf(4)
        base = x * 1
        view = base.view(2, 2).as_strided(shape, (0,) * len(shape))
        base.mul_(2)
        place[:] = [view]
        try:
            view.register_hook(lambda g: None)
            fn = view.grad_fn
            return x, view, fn
        except RuntimeError as error:
            assert "other dimensions" in str(error)
            return None

    def meddle():
        if place:
            place[0].data = torch.ones((1,) * 12)

    for made in at_each_collection(work, meddle):
        outcomes.append(made is not None)
        if made:
            x, view, fn = made
            try:
                view.sum().backward()
            except RuntimeError as error:
                assert "expected shape" in str(error)
        place.clear()
    assert any(outcomes)


def test_training_while_the_collector_meddles():
    """All that a step makes, at every allocation, beside the same step in peace."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x, target = torch.ones(5, 3), torch.zeros(5, 2)
    params = list(model.parameters())

    def work():
        model.zero_grad()
        h = model(x)
        h[:, :1].mul_(2)
        h.retain_grad()
        nn.functional.mse_loss(h, target).backward()
        return [p.grad.tolist() for p in params]

    expected = work()

    def meddle():
        with torch.enable_grad():
            autograd.grad(model(x).sum(), params)
        params[0].register_hook(lambda g: None).remove()

    for grads in at_each_collection(work, meddle):
        assert grads == expected
