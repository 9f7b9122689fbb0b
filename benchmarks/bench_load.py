"""Loading checkpoints beside PyTorch: one process, in turns, results compared first.

    python benchmarks/bench_load.py [--quick] [--json]

Prints the process's own time for each side, minimum of the rounds, and the ratio (by the clock in brackets).
The last line opens a file of 10 GB, almost all of it a hole, through mmap and says how much memory that took.
Needs torch.
"""

import resource
import tempfile
import time
from pathlib import Path

import torch

import rushlight
from harness import Bench, repeated

CIVILNET = Path(__file__).resolve().parents[1] / "tests" / "data" / "civilnet_digits.pth"


def same(theirs, ours):
    return theirs.keys() == ours.keys() and all((theirs[k].numpy() == ours[k].numpy()).all() for k in theirs)


def compare(bench, name, path, calls, rounds, **options):
    case = bench.compare(
        name,
        repeated(lambda: torch.load(path, **options)),
        repeated(lambda: rushlight.load(path, **options)),
        lambda: same(torch.load(path, **options), rushlight.load(path, **options)),
        calls,
        rounds,
        clock="own",
    )
    theirs, ours = case.min("theirs") * 1e3, case.min("ours") * 1e3
    wall = case.min("theirs", "wall") / case.min("ours", "wall")
    own = f"torch {theirs:9.3f} ms   rushlight {ours:9.3f} ms   {theirs / ours:6.2f}x"
    bench.say(f"{name:24} {own}   ({wall:.2f}x)")


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
        compare(bench, "CivilNet, 0.25 MB", CIVILNET, 50, rounds)
        compare(bench, "80 MB", path, 2, rounds)
        compare(bench, "80 MB, mmap=True", path, 20, rounds, mmap=True)
        opened(bench, Path(folder) / "hollow.pt", 10 << 30)


if __name__ == "__main__":
    main()
