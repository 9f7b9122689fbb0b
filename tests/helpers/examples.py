"""Runs programs of examples/ as their users do."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNNERS = {"torch": [], "rushlight": ["-m", "rushlight"]}
# PyTorch by its own kernels
PLAIN = [
    "-c",
    "import runpy, sys, torch; torch.backends.mkldnn.enabled = False; sys.argv = sys.argv[1:]; "
    "sys.path.insert(0, sys.argv[0].rpartition('/')[0]); runpy.run_path(sys.argv[0], run_name='__main__')",
]


def train(library, script, folder, epochs, resume=None, **environment):
    """Run a script that trains; (losses of the steps, the number that it prints last)."""
    steps = folder / "steps.txt"
    runner = PLAIN if library == "plain torch" else RUNNERS[library]
    command = [sys.executable, *runner, str(EXAMPLES / script), "--epochs", str(epochs)]
    command += ["--out", str(folder), "--steps", str(steps)]
    if resume:
        command += ["--resume", str(resume)]
    environment = os.environ | environment
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (run.returncode, run.stderr) == (0, "")
    return [float(line) for line in steps.read_text().splitlines()], float(run.stdout.split()[-1])


def apart(ours, theirs, n):
    """The largest difference of the first n losses."""
    assert len(ours) == len(theirs) >= n
    return max(abs(a - b) for a, b in zip(ours[:n], theirs[:n], strict=True))


def same_losses(ours, theirs, n, limit=1e-4):
    assert apart(ours, theirs, n) < limit
