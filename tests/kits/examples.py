"""Runs programs of examples/ as their users do."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNNERS = {"torch": [], "rushlight": ["-m", "rushlight"]}


def train(library, script, folder, epochs, resume=None, **environment):
    """Run a script that trains; (losses of the steps, the number that it prints last)."""
    steps = folder / "steps.txt"
    command = [sys.executable, *RUNNERS[library], str(EXAMPLES / script), "--epochs", str(epochs)]
    command += ["--out", str(folder), "--steps", str(steps)]
    if resume:
        command += ["--resume", str(resume)]
    environment = os.environ | environment
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (run.returncode, run.stderr) == (0, "")
    return [float(line) for line in steps.read_text().splitlines()], float(run.stdout.split()[-1])


def same_losses(ours, theirs, n, limit=1e-4):
    assert len(ours) == len(theirs) >= n
    assert max(abs(a - b) for a, b in zip(ours[:n], theirs[:n], strict=True)) < limit
