"""What the tests of threads share: starting them together, being quicker under ThreadSanitizer."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rushlight as torch

SANITIZED = "tsan" in os.environ.get("LD_PRELOAD", "")
# The sanitizers' own allocators do not hold their locks while a process forks: a child of one that had other
# threads may wait for ever in its first malloc. (ThreadSanitizer says so too: die_after_fork.)
FORKS_WITH_THREADS = "san.so" not in os.environ.get("LD_PRELOAD", "")
BIG = 1 << 15  # elements; kernels let other threads run from half of it

# For what a user's program must not do, either in PyTorch: it loses numbers, but must break nothing else.
races = pytest.mark.races


def fewer(n):
    """n, or a part of it where each step costs twenty times as much."""
    return max(2, n // 10) if SANITIZED else n


def together(*works):
    """Runs the functions, each in a thread, from one start; raises what the first failing one raised."""
    gate, failures = threading.Barrier(len(works)), []

    def run(work):
        gate.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def number(*shape, dtype=None):
    return torch.randn(*shape, dtype=dtype)


def index(high, *shape):
    return torch.randint(high, shape)


class beside:
    """with beside(step): another thread calls step() again and again; what it raises is raised at the end."""

    def __init__(self, step):
        self.step, self.stop, self.failure, self.rounds = step, threading.Event(), None, 0

    def _run(self):
        try:
            while not self.stop.is_set():
                self.step()
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001
            self.failure = error

    def __enter__(self):
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self.stop.set()
        self.thread.join()
        if self.failure and not error:
            raise self.failure


def in_process(code, **env):
    """Runs code in an interpreter of its own, which finds what this one found and must end with 0."""
    places = [Path(__file__).parents[1], Path(torch.__file__).parent.parent]
    path = os.pathsep.join([*map(str, places), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    env = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONPATH": path, **env}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
