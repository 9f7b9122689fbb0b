"""Worker processes: what they give, what they fail with, and that none of them stays."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import rushlight as torch
from helpers.process import SOURCE
from rushlight.utils import data
from rushlight.utils.data._utils import channel

pytestmark = pytest.mark.filterwarnings("ignore:This process", "ignore:This DataLoader will create")


@pytest.fixture(autouse=True)
def _forked():
    """What workers run is often local to a test; Python's default method is another one from 3.14 on."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


class Made(data.Dataset):
    """Sample i is make(i)."""

    def __init__(self, n, make=int):
        self.n, self.make = n, make

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.make(i)


class Stream(data.IterableDataset):
    """Each worker has as many samples as `counts` says."""

    def __init__(self, *counts):
        self.counts = counts

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(100 * info.id, 100 * info.id + self.counts[info.id]))


def fail_at(number, action):
    def make(i):
        if i == number:
            action()
        return i

    return Made(12, make)


def lists(loader):
    return [batch.tolist() for batch in loader]


def exists(pid):
    """Whether there is such a process that runs."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


# ---- what they give ----
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_batches_are_those_of_one_process(method):
    dataset = data.TensorDataset(torch.arange(40.0).reshape(10, 2, 2), torch.arange(10))
    torch.manual_seed(1)
    plain = list(data.DataLoader(dataset, 4, shuffle=True))
    state = torch.get_rng_state()
    torch.manual_seed(1)
    before = files() if method == "fork" else None
    loader = data.DataLoader(dataset, 4, shuffle=True, num_workers=2, multiprocessing_context=method)
    ours = list(loader)
    assert torch.equal(torch.get_rng_state(), state)
    for (a, b), (x, y) in zip(plain, ours, strict=True):
        assert torch.equal(a, x) and torch.equal(b, y)
        assert (x.stride(), y.dtype) == (a.stride(), b.dtype)
        assert x.is_shared()
        x += 1  # may be written to
    del a, b, x, y, ours
    assert before is None or files() == before


@pytest.mark.parametrize("persistent", [False, True])
def test_streams_end_one_by_one(persistent):
    loader = data.DataLoader(Stream(3, 5, 0), 2, num_workers=3, persistent_workers=persistent)
    expected = [[0, 1], [100, 101], [2], [102, 103], [104]]
    assert lists(loader) == expected
    assert lists(loader) == expected


def test_persistent_workers_begin_anew():
    loader = data.DataLoader(
        *(Made(8, lambda i: (i, os.getpid())), 2), shuffle=True, num_workers=2, persistent_workers=True
    )
    first = list(loader)
    next(iter(loader))  # an epoch that is left early: its other batches are dropped
    for epoch in (first, list(loader)):
        assert sorted(i for numbers, _ in epoch for i in numbers.tolist()) == list(range(8))
    assert len({pid for _, pids in first + list(loader) for pid in pids.tolist()}) == 2


def test_out_of_order():
    """The second batch comes first, since the first one waits for it."""
    read, write = os.pipe()

    def make(i):
        if i == 0:
            os.read(read, 1)
        return i

    loader = data.DataLoader(Made(4, make), num_workers=2, in_order=False)
    batches = iter(loader)
    assert next(batches).item() == 1
    os.write(write, b"x")
    assert sorted(batch.item() for batch in batches) == [0, 2, 3]
    os.close(read)
    os.close(write)


def test_workers_know_themselves():
    def make(i):
        info = data.get_worker_info()
        return (
            info.id,
            info.num_workers,
            info.seed - torch.initial_seed(),
            torch.get_num_threads(),
            len(info.dataset),
        )

    prepared = []
    loader = data.DataLoader(Made(4, make), 2, num_workers=2, worker_init_fn=prepared.append)
    assert [[x.tolist() for x in batch] for batch in loader] == [
        [[w] * 2, [2, 2], [0, 0], [1, 1], [4, 4]] for w in (0, 1)
    ]
    assert prepared == [] and data.get_worker_info() is None


def test_anything_travels():
    """Long pickles, many tensors, tensors without elements, parameters, views of one storage."""
    whole = torch.arange(6.0)

    def make(i):
        return (
            bytes(100_000),
            [torch.ones(1)] * 2 + [torch.ones(1) for _ in range(300)],
            torch.empty(0, 2),
            whole[i:],
        )

    for text, many, empty, view in data.DataLoader(Made(4, make), None, num_workers=2):
        assert len(text) == 100_000 and len(many) == 302 and empty.shape == (0, 2)
        assert many[0].data_ptr() == many[1].data_ptr() != many[2].data_ptr()
        assert view.untyped_storage().nbytes() == 24
    leaf = next(iter(data.DataLoader(Made(1, lambda i: torch.nn.Parameter(whole)), None, num_workers=1)))
    assert type(leaf) is torch.nn.Parameter and leaf.requires_grad


def test_large_samples():
    """They are written to shared memory one by one, and must be alike all the same."""
    rows = [torch.full((40, 30), float(i)).t() for i in range(4)]
    for batch, start in zip(data.DataLoader(rows, 2, num_workers=1), (0, 2), strict=True):
        assert torch.equal(batch, torch.stack(rows[start : start + 2])) and batch.is_contiguous()
    for other in (torch.ones(1200), torch.ones(30, 40, requires_grad=True)):
        with pytest.raises(RuntimeError, match="in DataLoader worker process 0"):
            list(data.DataLoader([rows[0], other], 2, num_workers=1))
    mixed = next(iter(data.DataLoader([rows[1], rows[0].double()], 2, num_workers=1)))
    assert mixed.dtype is torch.float32  # that of the first, as PyTorch's


def test_long_lists_of_indices_do_not_block():
    sampler = [list(range(100_000))] * 6
    assert (
        list(data.DataLoader(Made(10**6), batch_sampler=sampler, num_workers=1, collate_fn=len))
        == [100_000] * 6
    )


# ---- what they fail with ----
def test_exceptions_arrive_in_order():
    def fail():
        raise ValueError("five")

    batches = iter(data.DataLoader(fail_at(5, fail), 2, num_workers=2))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError) as caught:
        next(batches)
    text = str(caught.value)
    assert text.startswith(
        "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
    )
    assert text.endswith("ValueError: five\n") and "in fail" in text
    assert lists(batches) == [[6, 7], [8, 9], [10, 11]]


def test_what_cannot_be_pickled_is_said():
    loader = data.DataLoader(Made(2, lambda i: lambda: i), num_workers=1, collate_fn=list)
    with pytest.raises(
        (AttributeError, pickle.PicklingError), match="in DataLoader worker process 0(.|\n)*<lambda>"
    ):
        list(loader)

    def fail():
        raise type("Own", (Exception,), {})("words")

    with pytest.raises(RuntimeError, match="words"):
        list(data.DataLoader(fail_at(0, fail), num_workers=1))
    computed = torch.ones(1, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(data.DataLoader([computed], None, num_workers=1))


def test_what_cannot_be_unpickled_ends_it():
    class Bad:
        def __reduce__(self):
            return int, ("no number",)

    batches = iter(data.DataLoader(Made(8, lambda i: Bad()), None, num_workers=1))
    with pytest.raises(ValueError, match="no number"):
        next(batches)
    with pytest.raises(AssertionError, match="Invalid iterator state"):
        next(batches)


def test_failing_beginnings():
    def fail(_):
        raise KeyError("nothing")

    with pytest.raises(KeyError) as caught:
        list(data.DataLoader(Made(4), num_workers=1, worker_init_fn=fail))
    assert "Caught KeyError in DataLoader worker process 0.\n" in str(caught.value)
    with pytest.raises(TypeError, match="Caught TypeError in DataLoader worker process 0"):
        list(data.DataLoader(data.ChainDataset(3), num_workers=1))
    with (
        pytest.warns(UserWarning, match="Got pickle error"),
        pytest.raises((AttributeError, pickle.PicklingError)),
    ):
        list(data.DataLoader(Made(4, lambda i: i), num_workers=1, multiprocessing_context="spawn"))


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed. "),
        (lambda: os._exit(3), "exited unexpectedly with exit code 3. Details are lost"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_dead_worker_is_noticed(action, words, persistent):
    loader = data.DataLoader(fail_at(4, action), 2, num_workers=2, persistent_workers=persistent)
    batches = iter(loader)
    workers = batches._workers
    with pytest.raises(
        RuntimeError, match=rf"^DataLoader worker \(pid\(s\) {workers[0].pid}\) exited unexpectedly$"
    ) as caught:
        list(batches)
    assert words in str(caught.value.__cause__)
    assert not any(worker.is_alive() for worker in workers)
    with pytest.raises(AssertionError):
        next(batches)
    loader.dataset.make = int
    assert len(list(loader)) == 6  # with new ones


def test_timeout():
    read, write = os.pipe()
    batches = iter(data.DataLoader(Made(2, lambda i: os.read(read, 1)[0]), num_workers=1, timeout=0.05))
    with pytest.raises(RuntimeError, match="^DataLoader timed out after 0.05 seconds$"):
        next(batches)
    batches._timeout = 0
    os.write(write, b"ab")
    assert lists(batches) == [[97], [98]]
    os.close(read)
    os.close(write)


def test_too_many_files():
    code = (
        "import resource; import rushlight as torch\n"
        "from rushlight.utils.data import DataLoader\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))\n"
        "rows = [torch.ones(1)] * 500\n"
        "loader = DataLoader(rows, num_workers=1, prefetch_factor=40)\n"
        "print(sum(1 for batch in loader))\n"
        "try: list(loader)\n"
        "except RuntimeError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=dict(os.environ, PYTHONPATH=str(SOURCE)),
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "500", done.stderr
    assert lines[1].startswith("Too many open files. Communication with the workers is no longer possible.")


# ---- that none of them stays ----
@pytest.mark.parametrize("persistent", [False, True])
def test_abandoned_iterators_end_their_workers(persistent):
    before = files()
    loader = data.DataLoader(Made(10**6), 2, num_workers=2, persistent_workers=persistent)
    batches = iter(loader)
    next(batches)
    pids = [worker.pid for worker in batches._workers]
    del batches, loader
    assert not any(map(exists, pids))
    assert files() == before


def test_forked_child_leaves_the_workers_alone():
    batches = iter(data.DataLoader(Made(10), 2, num_workers=2))
    child = os.fork()
    if not child:
        del batches
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(lists(batches)) == 5


RUNNING = """
import multiprocessing, os, signal, sys, time
multiprocessing.set_start_method("fork")
signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run in the background
from rushlight.utils.data import DataLoader
class Slow:
    def __len__(self): return 10**6
    def __getitem__(self, i): time.sleep(0.01); return i
first = DataLoader(Slow(), 2, num_workers=2, persistent_workers=True)
second = DataLoader(Slow(), 2, num_workers=1)
runs = iter(first), iter(second)
for run in runs: next(run)
print(*[worker.pid for run in runs for worker in run._workers], flush=True)
{then}
"""


@pytest.mark.parametrize(
    "then, end, code",
    [
        ("for batch in runs[0]: pass", lambda pid: os.killpg(pid, signal.SIGINT), -signal.SIGINT),
        ("for batch in runs[0]: pass", lambda pid: os.kill(pid, signal.SIGKILL), -signal.SIGKILL),
        ("time.sleep(60)", lambda pid: os.kill(pid, signal.SIGKILL), -signal.SIGKILL),
        ("time.sleep(60)", lambda pid: os.kill(pid, signal.SIGTERM), -signal.SIGTERM),
        ("", None, 0),
        ("os._exit(0)", None, 0),
    ],
    ids=["interrupted", "killed", "killed idle", "terminated", "ended", "left"],
)
def test_workers_end_with_their_parent(then, end, code):
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", RUNNING.format(then=then)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        pids = [int(word) for word in run.stdout.readline().split()]
        assert len(pids) == 3
        if end is not None:
            end(run.pid)
        _, said = run.communicate(timeout=60)
        assert run.returncode == code, said
        wait_until(lambda: not any(map(exists, pids)))
        assert said == "" if code != -signal.SIGINT else said.count("KeyboardInterrupt") == 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


# ---- the channel ----
def test_channel_keeps_order_and_pieces():
    """More than the socket takes at once leaves piece by piece, whatever its length."""
    ours, theirs = channel.Channel.pair()
    other = channel.Channel(theirs)
    sent = [(i, "x" * (i * 997 % 30_000), torch.full((2,), i)) for i in range(60)]
    for message in sent:
        ours.put(message)
    arrived = []
    while not ours.flush() or len(arrived) < len(sent):
        arrived += other.take()
    assert [(i, len(text), x.tolist()) for i, text, x in arrived] == [
        (i, len(t), x.tolist()) for i, t, x in sent
    ]
    assert other.take() == []
    ours.close()
    with pytest.raises(EOFError):
        other.take()
    with pytest.raises(ConnectionError):
        other.put(1)
        other.flush()
    other.close()
