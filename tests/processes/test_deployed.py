"""Where models are served: one CPU and 512 MB, children of a warm parent, nothing to write to."""

import os
import resource
import signal
import subprocess
import sys

import pytest
from tests.helpers.threads import FORKS_WITH_THREADS

from helpers.process import SANITIZED, SOURCE

MODEL = """
import os, sys, threading
import rushlight as torch
from rushlight import nn
sys.path.insert(0, {tests!r})
from helpers.vision_models import resnet

def model(width=1.0):
    torch.manual_seed(0)
    return resnet(torch, 18, width).eval()

def answer(net, size=64):
    torch.manual_seed(1)
    with torch.inference_mode():
        return net(torch.rand(1, 3, size, size))
"""
TESTS = os.path.dirname(os.path.dirname(__file__))


def run(code, prepare=None, **environment):
    """Run a program in a process that prepare() readies; what it prints, as lines."""
    command = [sys.executable, "-c", MODEL.format(tests=TESTS) + code]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        command, env=environment, preexec_fn=prepare, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# ---- a small container ----
@pytest.mark.skipif(SANITIZED, reason="a sanitizer's shadow memory is larger than the limit")
def test_one_cpu_and_512_megabytes_are_enough():
    limit = 512 << 20

    def prepare():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # what the process may write to

    code = """
net = model()
for _ in range(3):
    last = answer(net, 224)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]
print(torch.get_num_threads(), len(os.listdir("/proc/self/task")), peak, last.isfinite().all().item())
"""
    threads, tasks, peak, finite = run(code, prepare)[0].split()
    assert (threads, tasks, finite) == ("1", "1", "True")
    assert int(peak) * 1024 < limit


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's shadow memory is larger than the limit")
def test_memory_that_cannot_be_had_is_an_error_and_the_model_lives():
    def prepare():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    code = """
net = model(0.25)
before = answer(net)
try:
    torch.zeros(1 << 30)
except RuntimeError as error:
    print("RuntimeError")
print(torch.equal(answer(net), before))
"""
    assert run(code, prepare) == ["RuntimeError", "True"]


# ---- prefork ----
@pytest.mark.skipif(not FORKS_WITH_THREADS, reason="a sanitizer's locks are not held in a fork")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
@pytest.mark.parametrize("onednn", [None, "0"])
def test_children_of_a_warm_parent_have_their_threads(onednn):
    code = """
net = model()
torch.set_num_threads(2)
before = answer(net, 128)
print(len(os.listdir("/proc/self/task")))
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        fresh = len(os.listdir("/proc/self/task"))
        same = torch.equal(answer(net, 128), before)
        print(fresh, same, torch.get_num_threads(), len(os.listdir("/proc/self/task")), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
print(torch.equal(answer(net, 128), before))
"""
    assert run(code, RUSHLIGHT_ONEDNN=onednn) == ["2", "1 True 2 2", "1 True 2 2", "1 True 2 2", "True"]


# ---- threads that serve ----
def test_four_threads_serve_from_one_model():
    code = """
net = model(0.5)
images = torch.rand(4, 1, 3, 64, 64)
with torch.inference_mode():
    expected = [net(image) for image in images]
right = []

def serve(image, wanted):
    with torch.inference_mode():
        right.extend(torch.equal(net(image), wanted) for _ in range(5))

threads = [threading.Thread(target=serve, args=pair) for pair in zip(images, expected)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(right), all(right))
"""
    assert run(code) == ["20 True"]


# ---- nothing to write to ----
def test_no_home_and_no_file_is_written(tmp_path):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file grows, whatever its path

    code = """
written = []

def watch(event, args):
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        written.append(args[0])
    if event in ("os.mkdir", "tempfile.mkstemp", "tempfile.mkdtemp"):
        written.append(event)

sys.addaudithook(watch)
net = model(0.25)
print(answer(net).isfinite().all().item())
torch.optim.SGD(net.parameters(), lr=0.1).step()
torch.load(os.environ["CHECKPOINT"])
print(written)
try:
    torch.save(net.state_dict(), os.environ["TARGET"])
except OSError as error:
    print("OSError")
"""
    checkpoint = os.path.join(TESTS, "data", "civilnet_digits.pth")
    bare = {"HOME": None, "TMPDIR": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    found = run(code, prepare, CHECKPOINT=checkpoint, TARGET=str(tmp_path / "model.pth"), **bare)
    assert found == ["True", "[]", "OSError"]
    assert list(tmp_path.iterdir()) == []
