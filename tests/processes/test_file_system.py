"""The strategy "file_system": what was sent arrives after its sender has ended, and nothing stays behind."""

import os
import resource
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler

import pytest
from tests.helpers.process import SOURCE

import rushlight as torch
import rushlight.multiprocessing as mp
from rushlight.multiprocessing import _keeper, reductions

pytestmark = pytest.mark.filterwarnings("ignore:This process")


@pytest.fixture(autouse=True)
def _strategy(monkeypatch):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(_keeper, "_client", _keeper._Client())
    mp.set_sharing_strategy("file_system")
    yield
    mp.set_sharing_strategy("file_descriptor")
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _keepers(address):
    """The processes that keep descriptors there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += [int(pid)] * (address[1:] in file.read())
        except OSError:  # it has just ended
            continue
    return found


def sent(obj):
    return ForkingPickler.loads(ForkingPickler.dumps(obj))


def _send(queue, n):
    for i in range(n):
        queue.put(torch.full((100,), i))


def test_what_was_sent_outlives_its_sender():
    queue = mp.get_context("fork").Queue()
    process = mp.get_context("fork").Process(target=_send, args=(queue, 5))
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert [queue.get(timeout=30)[99].item() for _ in range(5)] == [0, 1, 2, 3, 4]


def test_identity_and_descriptors():
    x = torch.arange(4.0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        y = sent((x, x[1:], torch.ones(3)))
        assert y[0].untyped_storage() is y[1].untyped_storage() is x.untyped_storage()
    del y
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # that of x, and the connection
    data = ForkingPickler.dumps(x)
    reductions.shared_cache.clear()
    copy = ForkingPickler.loads(data)
    copy[0] = 5
    assert x[0] == 5


def test_names():
    storage = torch.UntypedStorage([1, 2, 3])
    manager, handle, size = storage._share_filename_cpu_()
    again = torch.UntypedStorage._new_shared_filename_cpu
    assert size == 3 and storage.is_shared()
    with pytest.raises(RuntimeError, match="No such file or directory"):
        again(manager, handle, size)
    storage._shared_incref()
    copy = again(manager, handle, size)
    copy[0] = 9
    assert storage.tolist() == [9, 2, 3] and copy is not storage
    with pytest.raises(RuntimeError, match="smaller than the required mapping"):
        again(manager, handle, 4)
    assert storage._shared_decref() is storage
    for wrong in ((manager, handle), (manager, b"x"), (b"nobody", handle)):
        with pytest.raises((RuntimeError, FileNotFoundError), match="No such file or directory"):
            again(*wrong, 3)


def test_a_killed_keeper_is_an_error():
    data = ForkingPickler.dumps(torch.ones(3))
    (keeper,) = _keepers(_keeper.address())
    os.kill(keeper, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            ForkingPickler.loads(data)


_SENDER = """
import os, signal
import rushlight as torch, rushlight.multiprocessing as mp
from multiprocessing.reduction import ForkingPickler
mp.set_sharing_strategy("file_system")
ForkingPickler.loads(ForkingPickler.dumps(torch.ones(3)))
print(mp._keeper.address()[1:].decode(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_keeper_ends_with_the_last_process():
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", _SENDER], env=env, capture_output=True)
    address = b"\0" + done.stdout.strip()
    assert done.returncode == -signal.SIGKILL and len(address) == 43, done.stderr
    end = time.monotonic() + 30
    while _keepers(address):
        assert time.monotonic() < end
        time.sleep(0.01)
