"""The web service under gunicorn: workers that fork from a process that has loaded and warmed the model."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.helpers.examples import EXAMPLES
from tests.helpers.threads import FORKS_WITH_THREADS
from tests.processes.test_examples import DIGITS, asked

from helpers.process import SOURCE

pytest.importorskip("gunicorn")
pytestmark = pytest.mark.skipif(not FORKS_WITH_THREADS, reason="a sanitizer's locks are not held in a fork")

# The service, and what a test asks of its worker: who it is, whether a convolution is right, and whether it
# started threads that are not Python's.
SERVICE = """
import json, os, threading
import web_service
from web_service import F, torch

def convolve():
    image, weight = torch.ones(1, 64, 64, 64), torch.ones(64, 64, 3, 3)
    right = bool((F.conv2d(image, weight) == 64 * 9).all())
    return right, len(os.listdir("/proc/self/task")) > threading.active_count()

torch.set_num_threads(2)
assert convolve() == (True, True)

def application(environ, start_response):
    if environ["PATH_INFO"] != "/worker":
        return web_service.application(environ, start_response)
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([os.getpid(), *convolve()]).encode()]
"""


def ends(group, seconds=60):
    """Whether a process group ends; orphans count until the system has collected them."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def server(tmp_path):
    """The address of two workers with two threads each; in the end every process has gone."""
    (tmp_path / "service.py").write_text(SERVICE)
    path = os.pathsep.join([str(tmp_path), str(EXAMPLES), str(SOURCE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--threads", "2"]
    command += ["--bind", "127.0.0.1:0", "service:application"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "HOME": str(tmp_path)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said = ""
        while not (listens := re.search(r"Listening at: (http://\S+)", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        yield listens[1]
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert ends(process.pid), "somebody is left of the session"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_gunicorn_serves_from_forked_workers(server):
    images = np.load(DIGITS)["images"][:50].reshape(50, 64).tolist()
    status, expected = asked(server, {"images": images})
    assert status == 200
    with ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(lambda image: asked(server, {"image": image}), images))
        workers = list(clients.map(lambda _: asked(server + "/worker", {}), range(16)))
    assert [answer["digit"] for _, answer in answers] == [each["digit"] for each in expected]
    np.testing.assert_allclose(
        [answer["probability"] for _, answer in answers],
        [each["probability"] for each in expected],
        atol=2e-4,
    )
    assert {tuple(found[1:]) for _, found in workers} == {(True, True)}
