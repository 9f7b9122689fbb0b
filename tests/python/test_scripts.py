"""Programs that say ``import torch`` print here, under ``python -m rushlight``, what PyTorch printed.

Beside each script lies what it printed under PyTorch 2.13; tests/parity/test_scripts.py looks
whether it still does.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(Path(__file__).parents[1].joinpath("scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_prints_what_pytorch_prints(script):
    command = [sys.executable, "-W", "ignore", "-m", "rushlight", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.stderr == ""
    assert run.stdout == script.with_suffix(".expected").read_text(encoding="utf-8")
    assert run.returncode == 0


def test_there_are_scripts():
    assert len(SCRIPTS) >= 7
