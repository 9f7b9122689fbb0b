"""A training run that is killed again and again: its checkpoint is whole, and its losses are those of a
run that nobody killed, to the bit."""

import os
import random
import signal
import time

import pytest
from tests.helpers.sessions import EPOCHS, train

import rushlight
import rushlight.utils.data

pytestmark = pytest.mark.filterwarnings("ignore:This process")
KILLS = 8


def _start(path, log):
    """Another process that trains on, and notes the losses of each epoch before it saves."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with open(log, "a", buffering=1) as file:
            for epoch, losses in train(rushlight, rushlight.utils.data, path, EPOCHS):
                file.write(f"{epoch} {' '.join(loss.hex() for loss in losses)}\n")
        status = 0
    finally:
        os._exit(status)


def _noted(log):
    """What complete lines say: [(epoch, losses)]."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [(int(epoch), losses) for epoch, *losses in map(str.split, lines)]


def _kill_in_between(pid, log, moment):
    seen, end = len(_noted(log)), time.monotonic() + 60
    while len(_noted(log)) < seen + 2 and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(moment)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_nothing_is_lost(tmp_path):
    path, log = tmp_path / "last.tar", tmp_path / "log"
    moments, last = random.Random(0), 0
    for _ in range(KILLS):
        _kill_in_between(_start(path, log), log, moments.uniform(0, 0.008))
        epoch = rushlight.load(path)["epoch"]
        assert last < epoch <= max(done for done, _ in _noted(log)) <= epoch + 1
        last = epoch
    assert os.waitpid(_start(path, log), 0)[1] == 0
    whole = train(rushlight, rushlight.utils.data, tmp_path / "whole.tar", EPOCHS)
    wanted = {epoch: [loss.hex() for loss in losses] for epoch, losses in whole}
    assert len(wanted) == EPOCHS and all(losses == wanted[epoch] for epoch, losses in _noted(log))
    assert {epoch for epoch, _ in _noted(log)} == set(wanted)
