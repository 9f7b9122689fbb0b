"""Streams and threads under stress: the results of the CPU in whatever order, all whole after failures."""

import gc
import threading

import pytest

import rushlight as torch
from rushlight import cuda

from .test_runtime import simulated, two
from .test_runtime_errors import FAILURES, settled

F = torch.nn.functional
LAST = cuda.device_count() - 1


class TwoDevices(torch.nn.Module):
    """The first layer on one device, the second on another."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.one, self.two = torch.nn.Linear(5, 7), torch.nn.Linear(7, 3)

    def spread(self):
        self.one.to("cuda:0"), self.two.to(f"cuda:{LAST}")
        return self

    def forward(self, x):
        x = torch.relu(self.one(x.to(self.one.weight.device)))
        return self.two(x.to(self.two.weight.device))


def trained(model, steps=4):
    x, wanted = torch.arange(20.0).view(4, 5) / 20, torch.arange(12.0).view(4, 3) / 12
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(x)
        loss = F.mse_loss(out, wanted.to(out.device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_model_on_two_devices_trains():
    expected, model = trained(TwoDevices()), TwoDevices().spread()
    assert trained(model) == pytest.approx(expected, abs=1e-5)
    for layer in (model.one, model.two):
        assert layer.weight.grad.device == layer.weight.device
    assert cuda.current_device() == 0


def test_streams_of_both_devices_at_once():
    sides = [cuda.Stream(i) for i in (0, LAST)]
    sums = []
    x = torch.arange(3000.0)
    for side in sides:
        with cuda.stream(side):
            there = x.to("cuda", non_blocking=True)
            assert there.get_device() == side.device_index
            for _ in range(3):
                there = there * 2 + 1
            sums.append((there, side.record_event()))
    (a, first), (b, second) = sums
    main = cuda.current_stream(0)
    first.wait(main), second.wait(main)
    b.record_stream(main), a.record_stream(main)
    for side in sides:
        cuda.current_stream(side.device_index).wait_stream(side)
    assert (a + b.to("cuda:0")).cpu().equal(2 * (((x * 2 + 1) * 2 + 1) * 2 + 1))
    assert first.query() and second.query() and cuda.current_stream() == main


def test_events_measure_wait_and_answer():
    start, middle, end = (cuda.Event(enable_timing=True) for _ in range(3))
    start.record()
    x = torch.ones(1000, device="cuda")
    middle.record()
    y = x + x
    end.record()
    cuda.synchronize()
    assert start.query() and end.query()
    assert start.elapsed_time(middle) + middle.elapsed_time(end) == pytest.approx(
        start.elapsed_time(end), abs=1
    )
    assert y[0].item() == 2
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(cuda.Event(enable_timing=True))
    middle.record()  # again, elsewhere in the queue
    middle.synchronize()
    assert middle.query()


def test_backward_joins_the_streams_of_forward():
    x = torch.arange(2000.0, device="cuda", requires_grad=True)
    sides, main = [cuda.Stream() for _ in range(3)], cuda.current_stream()
    parts = []
    for i, side in enumerate(sides):
        side.wait_stream(main)
        with cuda.stream(side):
            parts.append((x * float(i + 1)) ** 2)
    for side, part in zip(sides, parts, strict=True):
        main.wait_stream(side)
        part.record_stream(main)
    sum(part.sum() for part in parts).backward()
    assert x.grad.cpu().equal(torch.arange(2000.0) * 2 * (1 + 4 + 9))
    other = cuda.Stream()
    x.grad = None
    other.wait_stream(main)
    with cuda.stream(other):
        ((x * 2) * x).sum().backward()  # forward and leaves on one stream, which nobody else has waited for
        doubled = x.grad * 2
    other.synchronize()
    assert doubled.cpu().equal(torch.arange(2000.0) * 8)


def in_threads(n, work):
    failed, done = [], []

    def run(i):
        try:
            done.append((i, work(i)))
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failed, failed
    return [answer for _, answer in sorted(done, key=lambda pair: pair[0])]


def test_threads_with_devices_and_streams_of_their_own():
    meet = threading.Barrier(6)

    def work(i):
        device = i % (LAST + 1)
        cuda.set_device(device)
        side = cuda.Stream()
        meet.wait(30)
        total = 0.0
        with cuda.stream(side):
            for round in range(6):
                x = torch.full((500 + i,), float(round), device="cuda", requires_grad=True)
                y = (x * (i + 1)).sum()
                y.backward()
                assert cuda.current_device() == device and cuda.current_stream() == side
                assert x.grad.get_device() == device
                total += x.grad[0].item() + y.item()
                if round % 3 == 0:
                    cuda.empty_cache()
        return total

    answers = in_threads(6, work)
    assert answers == [6.0 * (i + 1) + 15 * (i + 1) * (500 + i) for i in range(6)]
    assert cuda.current_device() == 0 and cuda.current_stream() == cuda.default_stream()


def test_threads_share_a_tensor_over_streams():
    shared = torch.arange(4096.0, device="cuda")
    cuda.synchronize()

    def work(i):
        side = cuda.Stream()
        with cuda.stream(side):
            for _ in range(5):
                copy = shared.clone()
                copy.record_stream(cuda.default_stream())
                there = copy.to(f"cuda:{LAST}").to("cuda:0")
                pinned = there.to("cpu", non_blocking=True)
                side.synchronize()
                assert pinned[i] == i
        return True

    assert all(in_threads(5, work))


@two
def test_peers_copy_in_the_order_of_both_streams():
    x = torch.zeros(10000, device="cuda:0")
    y = torch.zeros(10000, device="cuda:1")
    for i in range(10):
        x.fill_(float(i))
        y.copy_(x, non_blocking=True)
        x.fill_(-1.0)  # after the copy has read
        x.copy_(y)  # after it was written
        assert not (x - i).any()
    assert y[5].item() == 9


# ---- failures ----
def step(model, pinned):
    side = cuda.Stream()
    x = pinned.to("cuda:0", non_blocking=True)
    x.record_stream(side)  # whatever fails before the main stream has waited for it
    side.wait_stream(cuda.current_stream(0))
    with cuda.stream(side):
        scaled = x * 2
    cuda.current_stream(0).wait_stream(side)
    scaled.record_stream(cuda.current_stream(0))
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    loss = model(scaled).sum()
    loss.backward()
    end.record()
    end.synchronize()
    start.elapsed_time(end)
    return loss.to("cpu", non_blocking=True)


@simulated
@pytest.mark.parametrize("times", [1, 4])
def test_failures_at_every_call_of_a_step(times):
    from rushlight import _cuda_sim as sim

    model, pinned = TwoDevices().spread(), torch.arange(20.0).view(4, 5).pin_memory()
    step(model, pinned)
    model.zero_grad()
    before = settled()
    start = sim.calls()
    expected = step(model, pinned)
    cuda.synchronize()
    calls = sim.calls() - start
    gradients = [p.grad.cpu() for p in model.parameters()]
    assert calls > 80
    for n in range(1, calls + 1, 2 if times > 1 else 1):
        model.zero_grad()
        sim.fail(n, times)
        try:
            step(model, pinned)
        except FAILURES:
            pass
        sim.fail(0)
        name = sim.failed()
        assert cuda.current_device() == 0 and cuda.current_stream() == cuda.default_stream(), name
        assert cuda.current_stream(LAST) == cuda.default_stream(LAST), name
        if n % 9 == 0:
            model.zero_grad()
            assert settled() == before, f"{n}: {name}"
    model.zero_grad()
    gc.collect()
    again = step(model, pinned)
    cuda.synchronize()
    assert again.equal(expected)
    for p, wanted in zip(model.parameters(), gradients, strict=True):
        assert p.grad.cpu().equal(wanted)
