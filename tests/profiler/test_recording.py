"""What a profiler records: names, order, nesting, shapes, blocks of the user."""

import gc
import threading

import pytest
from tests.helpers.profiled import names, outermost, parents

import rushlight as torch
from rushlight import _C, nn
from rushlight.autograd.profiler import profile, record_function


# ---- operators ----
def test_operators_have_pytorchs_names():
    x = torch.ones(3)
    with profile() as prof:
        y = x + 1
        y += x
        torch.mul(x, 2, out=y)
        x[0] = 5
        torch.cat([x, y]).relu_().view(2, 3)
        x.float().double()
    expected = "add add_ mul select fill_ cat relu_ view to"
    assert outermost(prof) == [f"aten::{name}" for name in expected.split()]


def test_composites_hold_their_parts():
    x, y = torch.randn(2, 3), torch.tensor([0, 2])
    with profile() as prof:
        nn.functional.cross_entropy(x, y)
    assert parents(prof) == {
        "aten::cross_entropy_loss": None,
        "aten::log_softmax": "aten::cross_entropy_loss",
        "aten::nll_loss": "aten::cross_entropy_loss",
        "aten::nll_loss_forward": "aten::nll_loss",
    }


def test_times_of_parts_lie_within_the_whole():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    x, y = torch.randn(2, 1, 8, 8), torch.tensor([0, 2])
    with profile() as prof:
        with record_function("all"):
            nn.functional.cross_entropy(net(x), y).backward()
    events = prof.function_events
    assert outermost(prof) == ["all"]
    for event in events:
        inside = sum(child.cpu_time_total for child in event.cpu_children)
        assert 0 <= inside <= event.cpu_time_total + 1e-6
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
    whole = sum(event.self_cpu_time_total for event in events)
    assert whole == pytest.approx(events[0].cpu_time_total) == pytest.approx(prof.self_cpu_time_total)


def test_shapes():
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with profile(record_shapes=True) as prof:
        nn.functional.linear(x, w, b)
        torch.cat([x, x[:1]])
        x.sum(1, keepdim=True)
        torch.ones(()) * 2.5
    of = {event.name: event for event in prof.function_events}
    assert of["aten::linear"].input_shapes == [[2, 3], [4, 3], [4]]
    assert of["aten::linear"].input_dtypes == ["float"] * 3
    assert of["aten::cat"].input_shapes == [[], []]
    assert of["aten::cat"].structured_input_shapes == [[[2, 3], [1, 3]], []]
    assert of["aten::sum"].concrete_inputs[:3] == [None, 1, True]
    assert of["aten::mul"].input_shapes == [[], []] and of["aten::mul"].concrete_inputs == [None, 2.5]
    assert of["aten::slice"].input_shapes[0] == [2, 3]


def test_no_shapes_unless_asked_for():
    with profile() as prof:
        torch.ones(2) + 1
    assert all(event.input_shapes == [] for event in prof.function_events)


def test_long_lists_and_texts():
    many = [torch.ones(1) for _ in range(20000)]
    x = torch.randn(1, 1, 4, 4)
    with profile(record_shapes=True) as prof:
        torch.cat(many)
        nn.functional.conv2d(x, torch.ones(1, 1, 3, 3), padding="same")
    cat, conv = (e for e in prof.function_events if e.cpu_parent is None and e.name != "aten::ones")
    assert cat.structured_input_shapes[0] == [[1]] * 20000
    assert "same" in conv.concrete_inputs


def test_flops():
    x, w = torch.ones(2, 3), torch.ones(3, 5)
    image, kernel = torch.ones(2, 1, 28, 28), torch.ones(4, 1, 3, 3)
    with profile(with_flops=True) as prof:
        x @ w
        torch.mm(x, w)
        torch.addmm(torch.ones(5), x, w)
        torch.bmm(x[None], w[None])
        nn.functional.conv2d(image, kernel, padding=1)
        nn.functional.conv2d(image[0], kernel)
        x * x
    flops = [(e.name, e.flops) for e in prof.function_events if e.flops]
    assert flops == [
        *(("aten::mm", 60), ("aten::addmm", 60), ("aten::bmm", 60)),
        *(("aten::conv2d", 112896), ("aten::mul", 6)),
    ]


# ---- backward ----
def test_backward():
    x = torch.ones(2, requires_grad=True)
    with profile(record_shapes=True) as prof:
        (x * 3).sum().backward()
    front = "autograd::engine::evaluate_function: "
    leaf = "torch::autograd::AccumulateGrad"
    assert outermost(prof) == [
        *("aten::mul", "aten::sum"),
        *(front + "SumBackward0", front + "MulBackward0", front + leaf),
    ]
    of = {event.name: event for event in reversed(prof.function_events)}
    for node in ("SumBackward0", "MulBackward0", leaf):
        assert of[node].cpu_parent is of[front + node]
        assert (of[node].scope, of[front + node].scope) == (1, 0)
    assert of["MulBackward0"].sequence_nr == of["aten::mul"].sequence_nr >= 0
    assert of["MulBackward0"].input_shapes == [[2]]
    assert of[leaf].sequence_nr == -1


def test_function():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        Twice.apply(x).sum().backward()
    assert outermost(prof)[0] == "Twice"
    found = [(e.name, e.cpu_parent.name) for e in prof.function_events if e.name == "aten::mul"]
    assert found == [("aten::mul", "Twice"), ("aten::mul", "TwiceBackward")]
    del Twice, x
    gc.collect()


def test_backward_in_a_thread_of_its_own_is_recorded():
    """Hooks that run backward nest until the engine takes another thread."""
    depth = 0

    def again(grad):
        nonlocal depth
        depth += 1
        if depth < 60:
            with torch.enable_grad():
                z = torch.ones(1, requires_grad=True) * 2
            z.register_hook(again)
            z.backward()

    x = torch.ones(1, requires_grad=True)
    z = x * 2
    z.register_hook(again)
    with profile() as prof:
        z.backward()
    assert names(prof).count("MulBackward0") == 60
    assert len({event.thread for event in prof.function_events}) == 2


# ---- what is written in Python ----
@pytest.mark.parametrize("kind", ["SGD", "Adam", "Rprop", "LBFGS"])
def test_optimizers(kind):
    p = nn.Parameter(torch.ones(3))
    optimizer = getattr(torch.optim, kind)([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    closure()
    with profile() as prof:
        optimizer.step(closure)
        optimizer.zero_grad()
    found = outermost(prof)
    assert found == [f"Optimizer.step#{kind}.step", f"Optimizer.zero_grad#{kind}.zero_grad"]
    with profile() as prof:
        p + 1
    assert found and outermost(prof) == ["aten::add"]


def test_a_step_that_raises():
    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError

    p = nn.Parameter(torch.ones(1))
    broken, sound = Broken([p], lr=0.1), torch.optim.SGD([p], lr=0.1)
    with profile() as prof:
        with pytest.raises(ValueError):
            broken.step()
        sound.step()
        p + 1
    assert outermost(prof) == ["Optimizer.step#SGD.step", "aten::add"]


def test_nothing_stays_behind():
    from rushlight.nn.modules import module
    from rushlight.optim import optimizer
    from rushlight.utils.data.dataloader import _BaseDataLoaderIter

    before = (vars(optimizer.Optimizer)["zero_grad"], vars(_BaseDataLoaderIter)["__next__"])
    with profile(with_modules=True):
        assert vars(optimizer.Optimizer)["zero_grad"] is not before[0]
        assert vars(_BaseDataLoaderIter)["__next__"] is not before[1]
    assert before == (vars(optimizer.Optimizer)["zero_grad"], vars(_BaseDataLoaderIter)["__next__"])
    assert not optimizer._global_optimizer_pre_hooks and not optimizer._global_optimizer_post_hooks
    assert not module._global_forward_pre_hooks and not module._global_forward_hooks
    assert not _C._profile_is_on()


def test_batches():
    from rushlight.utils.data import DataLoader

    with profile() as prof:
        assert len(list(DataLoader([1, 2, 3], batch_size=2))) == 2
    assert names(prof).count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_modules():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    x = torch.ones(1, 2)
    with profile(with_modules=True) as prof:
        net(x)
        with pytest.raises(RuntimeError):
            net(torch.ones(1, 3))
        net(x)
    found = [e.cpu_parent.name for e in prof.function_events if e.name == "aten::linear"]
    first, last = "nn.Module: Linear_0", "nn.Module: Linear_1"
    assert found == [first, last, first, first, last]
    whole = "nn.Module: Sequential_0"
    assert outermost(prof) == [whole, "aten::ones", whole, whole]


# ---- blocks with names ----
def test_record_function_nests():
    with profile() as prof:
        with record_function("a"), record_function("b"):
            torch.ones(1)
        with record_function("ä" * 300):
            pass
    assert parents(prof) == {"a": None, "b": "a", "aten::ones": "b", "ä" * 300: None}
    assert [e.is_user_annotation for e in prof.function_events] == [True, True, False, True]


def test_record_function_decorates_and_recurses():
    @record_function("down")
    def down(n):
        """Down."""
        return torch.ones(n) if n == 0 else (down(n - 1), down(0))

    assert down.__name__ == "down" and down.__doc__ == "Down."
    down(2)
    with profile() as prof:
        down(2)
    assert names(prof).count("down") == 5 and outermost(prof) == ["down"]


def test_its_name_may_die():
    with profile() as prof:
        for i in range(50):
            with record_function(f"block {i}"):
                pass
        gc.collect()
    assert names(prof) == [f"block {i}" for i in range(50)]


def test_errors_end_blocks():
    with profile() as prof:
        with pytest.raises(RuntimeError), record_function("a"):
            torch.mm(torch.ones(3), torch.ones(3))
        torch.ones(1)
    assert parents(prof)["aten::mm"] == "a" and outermost(prof) == ["a", "aten::ones"]


def test_blocks_that_outlive_the_profiler():
    block = record_function("late")
    with profile() as prof:
        block.__enter__()
        torch.ones(1)
    with profile() as after:
        block.__exit__(None, None, None)
        torch.ones(1)
    block = record_function("early")
    block.__enter__()
    with profile() as third:
        block.__exit__(None, None, None)
    assert names(prof) == ["late", "aten::ones"] and prof.function_events[1].cpu_parent
    assert names(after) == ["aten::ones"] and names(third) == []


def test_another_thread_may_end_a_block():
    block = record_function("handed on")
    with profile() as prof:
        block.__enter__()
        thread = threading.Thread(target=block.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        torch.ones(1)
    event = prof.function_events[0]
    assert event.is_async and event.self_cpu_time_total == 0
    assert parents(prof) == {"handed on": None, "aten::ones": None}


def test_handles_are_checked():
    with pytest.raises(ValueError, match="PyCapsule"):
        _C._record_exit(3)
    with pytest.raises(TypeError):
        _C._record_enter(3)
    assert _C._record_enter("off") is None and _C._record_exit(None) is None
    with pytest.raises(TypeError):
        _C._profile_stop("x")
    assert _C._profile_stop(2**60) is None
    with pytest.raises(OverflowError):
        _C._profile_stop(-1)
