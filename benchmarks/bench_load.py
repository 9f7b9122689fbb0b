"""Loading checkpoints beside PyTorch, safetensors files beside their package: one process, in turns, results
compared first.

    python benchmarks/bench_load.py [--quick] [--json]

Prints the process's own time for each side, minimum of the rounds, and the ratio (by the clock in brackets).
The last line opens a file of 10 GB, almost all of it a hole, through mmap and says how much memory that took.
Needs torch and safetensors.
"""

import functools
import resource
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import rushlight
from harness import Bench, repeated

CIVILNET = Path(__file__).resolve().parents[1] / "tests" / "data" / "civilnet_digits.pth"


def same(theirs, ours):
    return theirs.keys() == ours.keys() and all((theirs[k].numpy() == ours[k].numpy()).all() for k in theirs)


def compare(bench, name, theirs, ours, calls, rounds):
    sides = repeated(theirs), repeated(ours)
    case = bench.compare(name, *sides, lambda: same(theirs(), ours()), calls, rounds, clock="own")
    theirs_ms, ours_ms = case.min("theirs") * 1e3, case.min("ours") * 1e3
    wall = case.min("theirs", "wall") / case.min("ours", "wall")
    own = f"torch {theirs_ms:9.3f} ms   rushlight {ours_ms:9.3f} ms   {case.ratio:6.2f}x"
    bench.say(f"{name:32} {own}   ({wall:.2f}x)")


def checkpoints(bench, name, path, calls, rounds, **options):
    sides = (functools.partial(library.load, path, **options) for library in (torch, rushlight))
    compare(bench, name, *sides, calls, rounds)


def safetensors(bench, folder, rounds):
    """Both sides map the file: opened only, and with all its bytes copied once."""
    contents = {
        "80 MB": {f"w{i}": torch.randn(1000, 2000) for i in range(10)},
        "10,000 tensors": {f"layers.{i}.weight": torch.randn(10, 10) for i in range(10_000)},
    }
    for (what, tensors), calls in zip(contents.items(), (20, 1), strict=True):
        path = folder / f"{what}.safetensors"
        save_file(tensors, path)
        sides = (functools.partial(load, path) for load in (load_file, rushlight.load))
        compare(bench, f"safetensors, {what}", *sides, calls, rounds)
        sides = (functools.partial(copied, load, path) for load in (load_file, rushlight.load))
        compare(bench, f"safetensors, {what}, copied", *sides, 1, rounds)


def copied(load, path):
    return {key: tensor.clone() for key, tensor in load(path).items()}


def opened(bench, path, size):
    """A file of `size` zeros that take no room on the disk: only what is looked at may cost memory."""
    with torch.serialization.skip_data():
        torch.save({"a": torch.empty(size, dtype=torch.uint8)}, path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    middle = int(rushlight.load(path, mmap=True)["a"][size // 2])
    taken = (time.process_time() - start) * 1e3
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if middle != 0:
        raise SystemExit("a hole must read as zeros")
    bench.record(case="hollow, mmap=True", size=size, seconds=taken / 1e3, more_memory=grown << 10)
    bench.say(f"{size >> 30} GB, mmap=True, one element read: {taken:.3f} ms, {grown} kB more memory")


def main():
    bench = Bench(__doc__)
    rounds = 3 if bench.quick else 7
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pt"
        torch.save({f"w{i}": torch.randn(1000, 2000) for i in range(10)}, path)
        checkpoints(bench, "CivilNet, 0.25 MB", CIVILNET, 50, rounds)
        checkpoints(bench, "80 MB", path, 2, rounds)
        checkpoints(bench, "80 MB, mmap=True", path, 20, rounds, mmap=True)
        safetensors(bench, Path(folder), rounds)
        opened(bench, Path(folder) / "hollow.pt", 10 << 30)


if __name__ == "__main__":
    main()
