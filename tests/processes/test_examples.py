"""The programs of examples/ as their users run them, and the web service under real requests."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest
from tests.helpers.examples import EXAMPLES

DIGITS = EXAMPLES.parent / "tests" / "data" / "digits.npz"
PROGRAMS = {
    "features.py": r"fc2: .* right for 9\d\.\d%",
    "inspect_and_convert.py": r"the same values: True",
    "own_function.py": r"gradcheck of Cube: True\n(.*\n)*with weights of 17 levels: 9\d\.\d% right",
    "serverless.py": r'"digits": \[\d\](.*\n)*cold start: \d+ ms',
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_say_what_they_promise(program, tmp_path):
    command = [sys.executable, "-W", "error", EXAMPLES / program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(PROGRAMS[program], done.stdout)


def test_every_example_is_in_the_list():
    text = (EXAMPLES / "README.md").read_text()
    for program in EXAMPLES.glob("*.py"):
        assert f"`{program.name}`" in text


# ---- the web service ----
@pytest.fixture
def service():
    """Its address; two workers serve until the test ends."""
    command = [sys.executable, EXAMPLES / "web_service.py", "--port", "0", "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        yield process.stdout.readline().split()[0]
        process.terminate()
        assert process.wait(timeout=30) == 0


def asked(address, request):
    data = request if isinstance(request, bytes) else json.dumps(request).encode()
    try:
        with urllib.request.urlopen(address, data=data, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_web_service_answers_and_refuses(service):
    with np.load(DIGITS) as digits:
        images = digits["images"][:32].reshape(32, 64).tolist()
        labels = digits["labels"][:32].tolist()
    status, found = asked(service, {"images": images})
    assert status == 200
    right = [each["digit"] == label for each, label in zip(found, labels, strict=True)]
    assert sum(right) >= 30
    assert asked(service, {"image": images[0]}) == (200, found[0])
    for wrong in (b"{", {}, [], {"image": [1, 2]}, {"images": []}, {"images": 3}, {"image": ["x"] * 64}):
        status, found = asked(service, wrong)
        assert status == 400 and found["error"]
    assert asked(service, {"image": images[0]})[0] == 200
