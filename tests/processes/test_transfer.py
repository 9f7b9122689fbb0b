"""Tensors between processes: started in each way, in queues, pipes and pools, killed at any time."""

import contextlib
import gc
import multiprocessing.connection
import os
import signal
import threading
import time

import pytest
from tests.helpers import processes as kit

import rushlight as torch
import rushlight.multiprocessing as mp
from rushlight.multiprocessing.pool import Pool
from rushlight.multiprocessing.queue import Queue, SimpleQueue

METHODS = ("fork", "spawn", "forkserver")
pytestmark = pytest.mark.filterwarnings("ignore:This process")


@contextlib.contextmanager
def running(method, target, *args):
    """A process that is gone at the end of the block, whatever happens."""
    process = mp.get_context(method).Process(target=target, args=args, daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def finish(process):
    process.join(30)
    assert process.exitcode == 0


# ---- ways to start, ways to send ----
@pytest.mark.parametrize("method", METHODS)
def test_arguments_and_messages_share_their_memory(method):
    context = mp.get_context(method)
    received, answers = context.Queue(), context.Queue()
    x, p = torch.zeros(2, 3), torch.nn.Parameter(torch.ones(2))
    with running(method, kit.echo, received, answers) as process:
        for sent in (x, x[1], p, torch.ones(2, device="meta"), {"shape": x.shape}):
            received.put(sent)
        got = [answers.get(timeout=30) for _ in range(5)]
        received.put(None)
        finish(process)
    assert x.tolist() == [[1, 1, 1], [2, 2, 2]] and p.tolist() == [2, 2]
    assert got[0].untyped_storage() is x.untyped_storage() is got[1].untyped_storage()
    assert type(got[2]) is torch.nn.Parameter and got[2].requires_grad and got[2].data_ptr() == p.data_ptr()
    assert got[3].is_meta and type(got[4]["shape"]) is torch.Size


@pytest.mark.parametrize("method", METHODS)
def test_views_among_arguments_stay_one_storage(method):
    answers = mp.get_context(method).SimpleQueue()
    x = torch.arange(4.0).share_memory_()
    with running(method, kit.same_memory, answers, x[1:], x.detach()[:2].requires_grad_()) as process:
        same, a, b, needs = answers.get()
        finish(process)
    assert same and (a, b, needs) == ([1, 2, 3], [0, 1], False)


@pytest.mark.parametrize("kind", [Queue, SimpleQueue])
def test_queues_of_this_package(kind):
    context = mp.get_context("fork")
    received, answers = kind(ctx=context), kind(ctx=context)
    x = torch.zeros(2)
    with running("fork", kit.echo, received, answers) as process:
        received.put(x)
        assert answers.get().tolist() == [1, 1] == x.tolist()
        received.put(None)
        finish(process)


def test_pipes():
    near, far = mp.Pipe()
    x = torch.ones(3)
    near.send(x)
    y = far.recv()
    y.fill_(2)
    assert x.tolist() == [2, 2, 2]


def _double(x):
    return x.mul_(2)


@pytest.mark.parametrize("kind", [mp.Pool, Pool])
def test_pools(kind):
    inputs = [torch.full((3,), float(i)) for i in range(6)]
    with kind(2) as pool:
        outputs = pool.map(_double, inputs)
        pool.close()
        pool.join()
    assert [x[0].item() for x in inputs] == [y[1].item() for y in outputs] == [0, 2, 4, 6, 8, 10]


# ---- writes of others ----
LAYERS = {
    "linear": (lambda: torch.nn.Linear(96, 128), lambda: torch.randn(64, 96)),
    "conv": (lambda: torch.nn.Conv2d(16, 32, 3), lambda: torch.randn(2, 16, 12, 12)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_another_process_wrote_is_what_a_layer_computes_with(name):
    """Packed weights would be stale, and nothing here could tell."""
    make, data = LAYERS[name]
    layer, x = make(), data()
    context = mp.get_context("fork")
    told, done = context.Semaphore(0), context.Semaphore(0)
    with torch.no_grad():
        for _ in range(3):
            layer(x)  # packs them, while the memory is still this process's own
        layer.share_memory()
        values = (0.5, -0.25, 0.0)
        args = (told, done, layer.weight, values)
        with running("fork", kit.write_when_told, *args) as process:
            for value in values:
                before = layer(x)
                told.release()
                assert done.acquire(timeout=30)
                fresh = make()
                fresh.load_state_dict({"weight": torch.full_like(layer.weight, value), "bias": layer.bias})
                after = layer(x)
                assert torch.allclose(after, fresh(x), atol=1e-5) and not torch.equal(before, after)
            finish(process)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hogwild(method):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    model.share_memory()
    mp.start_processes(kit.train, args=(model, 150), nprocs=2, start_method=method)
    assert (model.weight - 1).abs().max() < 0.05 and model.bias.abs() < 0.05


def test_children_write_what_the_parent_reads():
    tensors = [torch.zeros(3).share_memory_(), torch.zeros(2, 2).share_memory_().t()]
    with running("fork", kit.fill, tensors, 7) as process:
        finish(process)
    assert [x.tolist() for x in tensors] == [[7, 7, 7], [[7, 7], [7, 7]]]


# ---- what is left, and kills ----
def _descriptors():
    return len(os.listdir("/proc/self/fd"))


def _shm():
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def _sender(queue, go, n):
    for i in range(n):
        queue.put([torch.full((16,), i), torch.full((2, 2), float(i))])
    go.acquire()


def test_thousands_of_messages_leave_no_descriptor():
    context = mp.get_context("fork")
    queue, go = context.Queue(8), context.Semaphore(0)
    with running("fork", _sender, queue, go, 1100) as process:
        for i in range(1100):
            a, b = queue.get(timeout=30)
            assert a[3] == i and b[1, 1] == i
            if i == 99:
                before = _descriptors()
        assert _descriptors() <= before
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < 60
        go.release()
        finish(process)


def test_a_killed_sender_is_an_error_for_the_receiver():
    before = _shm()
    context = mp.get_context("fork")
    queue = context.Queue()
    with running("fork", kit.send_and_wait, queue, 20) as process:
        kept = queue.get(timeout=30)
        assert queue._poll(30)
        process.kill()
        process.join()
        with pytest.raises((OSError, EOFError)):
            for _ in range(19):
                queue.get(timeout=30)
    assert kept.sum() == 0 and kept.add_(1).sum() == 1000  # what had arrived stays
    assert _shm() <= before


def test_a_child_does_not_hold_the_connections_of_its_killed_parent():
    context = mp.get_context("fork")
    queue, told = context.Queue(), context.Semaphore(0)
    errors, children = [], []

    def receive():
        try:
            for _ in range(5):
                queue.get(timeout=30)
        except (OSError, EOFError) as error:
            errors.append(error)

    with running("fork", kit.send_beside_a_child, queue, told) as process:
        assert queue.get(timeout=30).sum() == 3
        told.release()
        while not queue._poll() or not children:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                children = [int(pid) for pid in file.read().split()]
        process.kill()
        process.join()
        receiver = threading.Thread(target=receive, daemon=True)
        receiver.start()
        receiver.join(20)
        os.kill(children[0], signal.SIGKILL)
    assert not receiver.is_alive() and errors


def test_receivers_are_killed_at_any_time():
    before = _shm()
    context = mp.get_context("fork")
    x = torch.arange(1000.0)
    for i in range(6):
        queue = context.Queue()
        with running("fork", kit.receive_forever, queue) as process:
            for _ in range(20):
                queue.put(x)
            time.sleep(0.01 * i)
            process.kill()
            process.join()
        queue.cancel_join_thread()
        queue.close()
    assert x.sum() == 499500 and _shm() <= before


def test_a_killed_writer_leaves_the_memory_usable():
    x = torch.zeros(1 << 20).share_memory_()
    for _ in range(5):
        process = mp.get_context("fork").Process(target=_write_forever, args=(x,))
        process.start()
        while not x[0]:
            time.sleep(0.001)
        process.kill()
        process.join()
        x.zero_()
        assert x.sum() == 0


def _write_forever(x):
    while True:
        x.add_(1)


def test_forks_beside_threads_that_send():
    stop = threading.Event()

    def send():
        while not stop.is_set():
            x = torch.ones(10)
            near, far = mp.Pipe()
            near.send((x, x[1:]))
            far.recv()

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            context = mp.get_context("fork")
            answers, got = context.SimpleQueue(), context.Semaphore(0)
            with running("fork", _send_one, answers, got) as process:
                ready = multiprocessing.connection.wait([answers._reader], timeout=30)
                assert ready and answers.get().tolist() == [3, 3]
                got.release()
                finish(process)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    gc.collect()


def _send_one(answers, got):
    x = torch.full((2,), 3)
    answers.put(x)
    assert not mp.reductions.StorageWeakRef(x.untyped_storage()).expired()
    got.acquire()
