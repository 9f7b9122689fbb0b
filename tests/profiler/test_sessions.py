"""Recordings as a whole: memory, several of them, threads, processes, memory that runs out."""

import os
import threading

import pytest
from tests.helpers.profiled import names, outermost

import rushlight as torch
from rushlight import _C
from rushlight.autograd.profiler import profile, record_function
from rushlight.profiler import _ExperimentalConfig


# ---- memory ----
def test_memory():
    x = torch.ones(100)
    with profile(profile_memory=True) as prof:
        y = x + 1
        with record_function("more"):
            z = y * 2
            z = z * 2
            del z
        del y
        v = x.view(10, 10)
        x += 1
    by = {event.name: event for event in prof.function_events}
    assert by["aten::add"].cpu_memory_usage == 400
    assert by["more"].cpu_memory_usage == 0 and by["more"].self_cpu_memory_usage == -800
    assert by["[memory]"].cpu_memory_usage == -400
    assert by["aten::view"].cpu_memory_usage == by["aten::add_"].cpu_memory_usage == 0
    assert names(prof).count("[memory]") == 1
    del v


def test_memory_of_tensors_from_before_is_not_counted():
    x = torch.ones(100)
    with profile(profile_memory=True) as prof:
        del x
        torch.ones(3)
    assert [(e.name, e.cpu_memory_usage) for e in prof.function_events] == [
        ("aten::ones", 12),
        ("[memory]", -12),
    ]


def test_memory_that_outlives_the_profiler_and_moves():
    with profile(profile_memory=True):
        kept, moved = torch.ones(4), torch.ones(4)
        moved.resize_(1000)
        shared = torch.ones(4).share_memory_()
    with profile(profile_memory=True) as prof:
        del kept
    assert [e.cpu_memory_usage for e in prof.function_events] == [-16]
    assert moved[:4].tolist() == shared.tolist() == [1.0] * 4


# ---- several profilers, threads, processes ----
def test_a_second_profiler_takes_over():
    outer, inner = profile(), profile()
    with pytest.warns(UserWarning, match="no active profiling session"):
        with outer:
            torch.ones(1)
            with inner:
                torch.zeros(1)
            torch.ones(1)
    assert names(outer) == [] and names(inner) == ["aten::zeros"]
    assert not _C._profile_is_on()


def test_not_reentrant():
    prof = profile()
    with prof:
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
            prof.__enter__()
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()


def test_disabled():
    with profile(enabled=False) as prof:
        assert prof is None and not _C._profile_is_on()


def test_stopped_by_a_hook_while_backward_runs():
    prof = profile()
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: prof.__exit__(None, None, None) or None)
    prof.__enter__()
    y.sum().backward()
    assert names(prof)[-1] == "autograd::engine::evaluate_function: MulBackward0"
    assert x.grad.tolist() == [2.0, 2.0]


def test_started_by_a_hook_while_backward_runs():
    prof = profile()
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: prof.__enter__() and None)
    y.sum().backward()
    prof.__exit__(None, None, None)
    assert names(prof)[-1] == "torch::autograd::AccumulateGrad"


@pytest.mark.threads
@pytest.mark.parametrize("everywhere", [False, True])
def test_other_threads(everywhere):
    x, ready, over = torch.ones(1000), threading.Barrier(4), threading.Event()

    def work():
        ready.wait()
        while not over.is_set():
            with record_function("elsewhere"):
                (x * 2).sum()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    with profile(
        record_shapes=True,
        profile_memory=True,
        experimental_config=_ExperimentalConfig(profile_all_threads=everywhere),
    ) as prof:
        for _ in range(200):
            x + 1
    over.set()
    for thread in threads:
        thread.join()
    of = {}
    for event in prof.function_events:
        of.setdefault(event.thread, set()).add(event.name)
    mine = {"aten::add", "[memory]"}
    assert sum("aten::add" in found for found in of.values()) == 1
    assert all(
        found <= mine or (everywhere and found <= {"elsewhere", "aten::mul", "aten::sum", "[memory]"})
        for found in of.values()
    )


@pytest.mark.threads
def test_threads_that_profile_at_once():
    """Each takes the recording from the others; nothing else may happen."""
    ready = threading.Barrier(3)
    found = []

    def work():
        x = torch.ones(10)
        ready.wait()
        for _ in range(50):
            session = _C._profile_start(inputs=True, memory=True)
            with record_function("block"):
                x * 2
            stopped = _C._profile_stop(session)
            found.append(stopped and {event[1] for event in stopped[0]})

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 150 and not _C._profile_is_on()
    assert all(each is None or each <= {"block", "aten::mul", "[memory]"} for each in found)


def test_a_thread_that_ends_within_a_block():
    with profile(experimental_config=_ExperimentalConfig(profile_all_threads=True)) as prof:
        thread = threading.Thread(target=record_function("open").__enter__)
        thread.start()
        thread.join()
    assert names(prof) == ["open"] and prof.function_events[0].cpu_time_total > 0


@pytest.mark.filterwarnings("ignore:disableProfiler called")
def test_a_forked_child_records_nothing():
    with profile(record_shapes=True) as prof:
        torch.ones(2)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                torch.zeros(2)
                was_on = _C._profile_is_on()
                prof.__exit__(None, None, None)
                with profile() as own:
                    torch.zeros(2)
                os.write(write, f"{was_on} {names(prof)} {names(own)}".encode())
            finally:
                os._exit(0)
        os.close(write)
        assert os.read(read, 1000) == b"False [] ['aten::zeros']"
        os.close(read)
        os.waitpid(child, 0)
        torch.ones(2)
    assert names(prof) == ["aten::ones", "aten::ones"]


# ---- short of memory ----
def test_events_without_memory_are_dropped():
    x = torch.ones(3)
    kept = x + x  # a block for the result
    failed = 0
    for n in range(4):
        session = _C._profile_start(inputs=True)
        del kept
        _C._fail_alloc(n)
        try:
            kept = x + x
        except RuntimeError:
            failed += 1
            kept = None
        finally:
            left_over = _C._fail_alloc(-1)
        events, _, _, dropped = _C._profile_stop(session)
        assert left_over is None and len(events) + dropped == 1
        if n == 0:
            assert dropped == 1 and kept is not None, "the call itself does not fail"
            assert kept.tolist() == [2.0] * 3
    assert failed <= 2


def test_what_was_dropped_is_said():
    with pytest.warns(UserWarning, match="dropped 1 events"):
        with profile() as prof:
            _C._fail_alloc(0)
            with record_function("lost"):
                pass
            _C._fail_alloc(-1)
            torch.ones(1)
    assert names(prof) == ["aten::ones"]


def test_more_events_than_a_chunk_holds():
    x = torch.ones(1)
    with profile() as prof:
        for _ in range(2000):
            x + x
    assert names(prof) == ["aten::add"] * 2000


@pytest.mark.parametrize("shapes", [False, True])
def test_autocast_and_profiler_together(shapes):
    x = torch.ones(2, 2)
    with torch.autocast("cpu"), profile(record_shapes=shapes) as prof:
        y = x @ x
    assert y.dtype == torch.bfloat16 and outermost(prof) == ["aten::matmul"]
    with profile():
        with torch.autocast("cpu"):
            y = x @ x
    assert y.dtype == torch.bfloat16 and (x @ x).dtype == torch.float32
