"""examples/train_civilnet.py under PyTorch and rushlight: the same losses, and each resumes the other."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "train_civilnet.py"
RUNNERS = {"torch": [], "rushlight": ["-m", "rushlight"]}


def train(library, folder, epochs, resume=None):
    """Run the script; (losses of the steps, final accuracy)."""
    steps = folder / "steps.txt"
    command = [sys.executable, *RUNNERS[library], str(SCRIPT), "--epochs", str(epochs)]
    command += ["--out", str(folder), "--steps", str(steps)]
    if resume:
        command += ["--resume", str(resume)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(line) for line in steps.read_text().splitlines()], float(printed.split()[-1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return {
        library: (folder := tmp_path_factory.mktemp(library), *train(library, folder, 3))
        for library in RUNNERS
    }


def same_losses(ours, theirs, n):
    assert len(ours) == len(theirs) >= n
    assert max(abs(a - b) for a, b in zip(ours[:n], theirs[:n], strict=True)) < 1e-4


def test_losses_step_by_step(runs):
    (_, theirs, their_accuracy), (_, ours, our_accuracy) = runs["torch"], runs["rushlight"]
    same_losses(ours, theirs, 100)
    assert abs(our_accuracy - their_accuracy) <= 0.01


def test_each_resumes_the_other(runs, tmp_path):
    after = {}
    for library, other in (("torch", "rushlight"), ("rushlight", "torch")):
        folder = tmp_path / library
        after[library] = train(library, folder, 4, resume=runs[other][0] / "checkpoint.tar")
    same_losses(after["rushlight"][0], after["torch"][0], 45)
    assert abs(after["rushlight"][1] - after["torch"][1]) <= 0.01


def test_both_resume_a_finished_run(tmp_path):
    checkpoint = ROOT / "tests" / "data" / "civilnet_digits_checkpoint.tar"
    after = {library: train(library, tmp_path / library, 13, resume=checkpoint) for library in RUNNERS}
    same_losses(after["rushlight"][0], after["torch"][0], 45)
    assert after["torch"][1] > 0.9 and abs(after["rushlight"][1] - after["torch"][1]) <= 0.01
