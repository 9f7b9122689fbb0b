"""Calls under autocast: what is cast, what is kept of the casts, and for how long."""

import gc
import threading
import weakref

import pytest

import rushlight as torch
from rushlight import _C, nn

from .test_memory import grown, survive

BF16, F32 = torch.bfloat16, torch.float32


def casting(*args, **kwargs):
    return torch.autocast("cpu", *args, **kwargs)


def cast_of(result, argument=1):
    """The node of the cast of an argument."""
    return result.grad_fn.next_functions[argument][0]


def weight():
    return nn.Parameter(torch.ones(4, 4))


def rows():
    return torch.ones(2, 4)


@pytest.fixture(autouse=True)
def _autocast_is_off():
    yield
    _C._fail_alloc(-1)
    assert not torch.is_autocast_enabled("cpu") and torch.is_autocast_cache_enabled()
    assert torch.autocast_increment_nesting() == 1 and torch.autocast_decrement_nesting() == 0
    assert torch.get_autocast_dtype("cpu") is BF16


# ---- gradients ----
def test_gradients_flow_through_the_casts():
    x, w = rows(), weight()
    x.requires_grad_()
    with casting():
        out = torch.mm(x, w)
    assert (out.dtype, cast_of(out, 0).name(), cast_of(out).name()) == (BF16, *["ToCopyBackward0"] * 2)
    out.sum().backward()
    assert w.grad.dtype is F32 and w.grad.eq(2).all() and x.grad.dtype is F32 and x.grad.eq(4).all()


def test_backward_inside_of_the_context():
    x, w = rows(), weight()
    with casting():
        torch.mm(x, w).sum().backward()
        torch.mm(x, w).sum().backward()
    assert w.grad.dtype is F32 and w.grad.eq(4).all()


def test_deeply_nested_backward_keeps_the_state():
    """Backward that nests too deeply goes on in a thread of its own."""
    x = rows()
    seen = []

    def go_on(depth):
        y = torch.ones(1, requires_grad=True)
        y.register_hook(lambda grad: seen.append(torch.mm(x, x.t()).dtype) if not depth else go_on(depth - 1))
        with torch.enable_grad():
            y.sum().backward()

    with casting(torch.float16):
        go_on(120)
    assert seen == [torch.float16]


# ---- casts that are kept ----
def test_a_weight_is_cast_once():
    x, w = rows(), weight()
    with casting():
        first, second = torch.mm(x, w), torch.mm(x, w)
        assert cast_of(first) is cast_of(second)
        with casting():
            assert cast_of(torch.mm(x, w)) is cast_of(first)
        with casting(enabled=False):
            assert torch.mm(x, w).dtype is F32
        assert cast_of(torch.mm(x, w)) is cast_of(first)
        torch.clear_autocast_cache()
        assert cast_of(torch.mm(x, w)) is not cast_of(first)
    with casting():
        assert cast_of(torch.mm(x, w)) is not cast_of(first)


def test_a_weight_is_cast_each_time_without_the_cache():
    x, w = rows(), weight()
    with casting(cache_enabled=False):
        assert cast_of(torch.mm(x, w)) is not cast_of(torch.mm(x, w))


def test_a_weight_that_was_written_keeps_its_cast():
    x, w = rows(), weight()
    with casting():
        with torch.no_grad():
            before = torch.mm(x, w)
            w.zero_()
            assert torch.mm(x, w).equal(before)
        assert torch.mm(x, w).equal(before) and torch.mm(x, w).requires_grad
        torch.clear_autocast_cache()
        assert torch.mm(x, w).eq(0).all()


def test_only_leaves_that_require_grad_are_kept():
    x, w = rows(), weight()
    plain = torch.ones(4, 4)
    with casting():
        for other in (plain, w.detach(), w * 1, w.t()):
            before = torch.mm(x, other)
            with torch.no_grad():
                other.data.mul_(2)
            assert torch.mm(x, other).equal(before * 2)
        with torch.inference_mode():
            before = torch.mm(x, w)
            w.data.mul_(2)
            assert torch.mm(x, w).equal(before * 2) and torch.mm(x, w).is_inference()


def test_another_dtype_has_another_cast():
    x, w = rows(), weight()
    with casting():
        assert torch.mm(x, w).dtype is BF16
        with casting(torch.float16):
            assert torch.mm(x, w).dtype is torch.float16


def test_nothing_is_left_of_a_context():
    x, w = rows(), weight()
    before, gone = _C._live(), weakref.ref(w)
    with casting():
        torch.mm(x, w)
        assert grown(before)
    assert not grown(before)
    with casting():
        torch.mm(x, w)
        del w
        assert gone() is not None  # its cast has it for backward
    assert gone() is None


def test_a_thread_that_ends_inside_of_a_context_lets_go():
    x = rows()

    def work():
        torch.set_autocast_enabled("cpu", True)
        w = weight()
        alive.append(weakref.ref(w))
        torch.mm(x, w)

    alive = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    assert alive[0]() is None


def test_threads_have_states_of_their_own():
    x, w = rows(), weight()
    seen, first = [], []

    def work():
        seen.append((torch.mm(x, w).dtype, torch.get_autocast_dtype("cpu")))
        with casting(torch.float16):
            seen.append(torch.mm(x, w).dtype)

    with casting(BF16):
        first.append(cast_of(torch.mm(x, w)))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert cast_of(torch.mm(x, w)) is first[0]
        assert torch.mm(x, w).dtype is BF16
    assert seen == [(F32, BF16), torch.float16]


# ---- what is not cast ----
def test_calls_in_place_and_with_out():
    x, w = rows(), weight()
    with casting():
        assert torch.mm(x, w.detach(), out=torch.empty(0)).dtype is F32
        assert torch.zeros(2, 4).addmm_(x, w.detach()).dtype is F32
        thirds = torch.full((1, 2, 2), 1 / 3)
        exact = torch.zeros(2, 2).addbmm_(thirds, thirds)
        assert exact.equal(torch.addbmm(torch.zeros(2, 2), thirds, thirds, out=torch.empty(0)))
        assert not exact.equal(torch.addbmm(torch.zeros(2, 2), thirds, thirds).float())
        with pytest.raises(RuntimeError, match="must have the same dtype"):
            torch.zeros(2, 4).addmm_(x, w.detach().bfloat16())


def test_other_devices_and_float64():
    with casting():
        meta = torch.empty(2, 4, device="meta")
        assert torch.mm(meta, meta.t()).dtype is F32
        double = torch.ones(2, 4, dtype=torch.float64)
        assert torch.mm(double, double.t()).dtype is torch.float64
        with pytest.raises(RuntimeError, match="same dtype"):
            torch.mm(double, torch.ones(4, 2))


def test_lists_of_tensors_stay_as_they_are():
    x = rows()
    tensors = [x, x.bfloat16(), x.double()]
    with casting():
        assert torch.cat(tensors[:2]).dtype is F32 and torch.cat(tensors[1:2] * 2).dtype is BF16
        assert torch.stack(tensors).dtype is torch.float64
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
            torch.cat([x.half(), x.half()])
    assert [each.dtype for each in tensors] == [F32, BF16, torch.float64]


def test_an_error_leaves_autocast_on():
    x = rows()
    with casting():
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            torch.mm(x, x)
        assert torch.is_autocast_enabled("cpu") and torch.mm(x, x.t()).dtype is BF16


# ---- when memory ends ----
def _fresh(*shapes):
    return lambda: [nn.Parameter(torch.ones(shape)) for shape in shapes]


@pytest.mark.parametrize(
    ("make", "call"),
    [
        (_fresh((2, 4), (4, 4)), torch.mm),
        (_fresh((2, 4), (3, 4), (3,)), nn.functional.linear),
        (_fresh((2, 4), (2, 4)), lambda a, b: torch.cat([a, b.bfloat16()])),
        (_fresh((2, 4), (2, 4)), lambda a, b: nn.functional.mse_loss(a.bfloat16(), b)),
        (_fresh((1, 2, 4, 4)), lambda a: nn.functional.pad(a.bfloat16(), (1, 1, 1, 1), mode="reflect")),
    ],
    ids=["mm", "linear", "cat", "mse_loss", "pad"],
)
def test_failing_allocations(make, call):
    def run(*args):
        with casting():
            return call(*args)

    run(*make())  # what is made once
    _, failed = survive(make, run)
    assert failed > 2
