"""A process that saves again and again is killed at any moment: the file that it leaves is a whole one."""

import os
import random
import signal
import time

import pytest
from tests.helpers.processes import save_forever

import rushlight as torch
from rushlight._files import writer

pytestmark = pytest.mark.filterwarnings("ignore:This process")


def _saver(path, legacy):
    pid = os.fork()
    if pid == 0:
        try:
            save_forever(path, legacy)
        finally:
            os._exit(1)
    return pid


def _kill(pid):
    os.kill(pid, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("legacy", [False, True])
def test_the_last_checkpoint_is_whole(legacy, nameless, tmp_path, monkeypatch):
    if not nameless:  # as on a file system without files that have no name
        monkeypatch.setattr(writer, "_write_nameless", lambda *args: False)
    path = tmp_path / "last.tar"
    step, steps = 0, set()
    for _ in range(15):
        pid = _saver(path, legacy)
        end = time.monotonic() + 30
        before = path.stat().st_mtime_ns if path.exists() else 0
        while not path.exists() or path.stat().st_mtime_ns == before:
            assert time.monotonic() < end
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.02))
        _kill(pid)
        saved = torch.load(path)
        step = saved["step"]
        assert all((x == step).all() for x in saved["model"].values())
        steps.add(step)
    assert len(steps) > 1  # it was killed at several places
    for name in os.listdir(tmp_path) if nameless else ():
        assert torch.load(tmp_path / name)["step"] <= step + 1  # what has a name is whole


def test_a_file_system_without_nameless_files(tmp_path, monkeypatch):
    def refused(*args, **kwargs):
        raise OSError(18, "Invalid cross-device link")

    path = tmp_path / "a.pt"
    torch.save("old", path)
    monkeypatch.setattr(os, "link", refused)
    torch.save("new", path)
    assert torch.load(path) == "new" and os.listdir(tmp_path) == ["a.pt"]
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        torch.save("new", tmp_path / "nowhere" / "a.pt")
