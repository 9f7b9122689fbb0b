"""Rows of no elements that begin where memory ends: nothing of them is read, and PyTorch's answers come."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from helpers import empty_rows
from helpers.process import SOURCE

PROGRAM = """
import json, rushlight
from helpers import empty_rows
found = {dtype: empty_rows.answers(rushlight, dtype) for dtype in empty_rows.DTYPES}
print(json.dumps([found, empty_rows.backwards(rushlight)]))
"""


@pytest.mark.parametrize("fence", ["1", "2"])
def test_operators_do_not_read_rows_of_no_elements(fence):
    path = f"{SOURCE}:{Path(__file__).parents[1]}"
    env = {**os.environ, "PYTHONPATH": path, "RUSHLIGHT_FENCE": fence}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers, gradients = json.loads(done.stdout)
    assert answers == {dtype: empty_rows.answers(torch, dtype) for dtype in empty_rows.DTYPES}
    made = [answer for found in answers.values() for answer in found.values() if len(answer) == 3]
    assert len(made) > 500 and len(gradients) > 20
    assert all(shape == [[17, 0]] for shape in gradients.values())
