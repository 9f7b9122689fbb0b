"""tests/scripts/training_session.py with nn.Dropout itself: 40 steps with PyTorch's losses."""

import contextlib
import io
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
SCRIPT = Path(__file__).parents[1] / "scripts" / "training_session.py"


def dropout_of_the_generator(x, p=0.5, training=True, inplace=False):
    """PyTorch's dropout as it draws where that is not from MKL: 53 bits of the generator an element."""
    return x * (torch.rand(x.shape, dtype=torch.float64) < 1 - p) / (1 - p) if training else x


def losses(printed):
    return [float(line.split()[0]) for line in printed.splitlines() if not line.startswith("epoch")]


def test_forty_steps(monkeypatch):
    monkeypatch.setattr(torch.nn.functional, "dropout", dropout_of_the_generator)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "plain"])
    theirs = io.StringIO()
    with contextlib.redirect_stdout(theirs):
        runpy.run_path(str(SCRIPT), run_name="__main__")
    command = [sys.executable, "-m", "rushlight", str(SCRIPT), "plain"]
    ours = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pairs = list(zip(losses(ours), losses(theirs.getvalue()), strict=True))
    assert len(pairs) == 40 and max(abs(a - b) for a, b in pairs) < 1e-3
    assert ours.splitlines()[-1] == theirs.getvalue().splitlines()[-1] == "epoch 4: 64 of 64"
