"""start_processes() and spawn(): what becomes of the processes, and the errors that tell it."""

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.helpers import processes as kit
from tests.helpers.process import SOURCE

import rushlight.multiprocessing as mp

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:This process")


def test_all_end_well():
    assert mp.start_processes(kit.nothing, nprocs=2, start_method="fork") is None
    context = mp.start_processes(kit.nothing, nprocs=2, join=False, start_method="fork")
    assert isinstance(context, mp.ProcessContext) and len(context.pids()) == 2
    while not context.join(timeout=30):
        pass
    assert context.join()


ERRORS = {
    "raise": (mp.ProcessRaisedException, r"\n\n-- Process 1 terminated with the following error:\n.*reason"),
    "exit": (mp.ProcessExitedException, "process 1 terminated with exit code 3"),
    "kill": (mp.ProcessExitedException, "process 1 terminated with signal SIGKILL"),
}


@pytest.mark.parametrize("how", ERRORS)
def test_one_that_fails_ends_the_others(how):
    kind, text = ERRORS[how]
    context = mp.start_processes(kit.fail, args=(1, how), nprocs=3, join=False, start_method="fork")
    with pytest.raises(kind, match=f"(?s){text}") as caught:
        while not context.join(grace_period=0.1):
            pass
    error = caught.value
    assert (error.error_index, error.error_pid) == (1, context.pids()[1])
    assert [process.is_alive() for process in context.processes] == [False] * 3
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and (str(copy), copy.error_pid) == (str(error), error.error_pid)
    if kind is mp.ProcessExitedException:
        assert (copy.exit_code, copy.signal_name) == {"exit": (3, None), "kill": (-9, "SIGKILL")}[how]


def test_warnings():
    with pytest.warns(FutureWarning, match="only supports start_method=spawn .got: fork"):
        mp.spawn(kit.nothing, nprocs=0, start_method="fork")
    with pytest.warns(UserWarning, match="SpawnContext is renamed to ProcessContext"):
        mp.SpawnContext([], [])


def test_a_fork_server_starts_them_in_parallel(monkeypatch):
    monkeypatch.setenv(mp.ENV_VAR_PARALLEL_START, "1")
    assert mp.start_processes(kit.nothing, nprocs=2, start_method="forkserver") is None


_PARENT = """
import rushlight.multiprocessing as mp
from tests.helpers import processes as kit
mp.start_processes(kit.report_pid_and_wait, args=({path!r},), nprocs=2, start_method="fork")
"""


def _gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_processes_end_with_their_killed_parent(tmp_path):
    path = str(tmp_path / "pid")
    env = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    parent = subprocess.Popen([sys.executable, "-c", _PARENT.format(path=path)], env=env)
    end = time.monotonic() + 30
    while not all(os.path.exists(f"{path}.{rank}") for rank in range(2)):
        assert time.monotonic() < end and parent.poll() is None
        time.sleep(0.01)
    pids = [int(Path(f"{path}.{rank}").read_text()) for rank in range(2)]
    parent.kill()
    parent.wait()
    while not all(map(_gone, pids)):
        assert time.monotonic() < end
        time.sleep(0.01)


_SCRIPT = """
import torch
import torch.multiprocessing as mp

def double(rank, x):
    x[rank] *= 2
    print(type(x).__module__, flush=True)

if __name__ == "__main__":
    x = torch.ones(2)
    x.share_memory_()
    for method in ("spawn", "forkserver"):
        mp.start_processes(double, args=(x,), nprocs=1, start_method=method)
    import multiprocessing
    process = multiprocessing.get_context("spawn").Process(target=double, args=(1, x))
    process.start()
    process.join()
    print(x.tolist())
"""


_PLAIN = """
import multiprocessing
import sys
import rushlight as torch

def fill(queue, got, x, marked):
    x.fill_(5)
    marked.fill_(6)
    queue.put(x.new_ones(1))
    got.acquire()

class Marked(torch.Tensor):
    pass

if __name__ == "__main__":
    assert "rushlight.multiprocessing" not in sys.modules
    context = multiprocessing.get_context("spawn")
    queue, got = context.Queue(), context.Semaphore(0)
    x, marked = torch.zeros(2), torch.zeros(2).as_subclass(Marked)
    process = context.Process(target=fill, args=(queue, got, x, marked))
    process.start()
    print(queue.get().is_shared(), x.tolist(), marked.tolist())
    got.release()
    process.join()
"""


def test_programs_that_use_pythons_own_multiprocessing(tmp_path):
    (tmp_path / "script.py").write_text(_PLAIN)
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "True [5.0, 5.0] [6.0, 6.0]\n", done.stderr


def test_programs_that_import_torch(tmp_path):
    (tmp_path / "script.py").write_text(_SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "rushlight", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["torch"] * 3 + ["[4.0, 2.0]"]
