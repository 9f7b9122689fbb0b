"""Loading checkpoints beside PyTorch: one process, in turns, results compared first.

    python benchmarks/bench_load.py [--quick]

Prints the process's own time for each side, minimum of the rounds, and the ratio (by the clock in brackets).
The last line opens a file of 10 GB, almost all of it a hole, through mmap and says how much memory that took.
Needs torch.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import torch

import rushlight

CIVILNET = Path(__file__).resolve().parents[1] / "tests" / "data" / "civilnet_digits.pth"


def same(theirs, ours):
    return theirs.keys() == ours.keys() and all((theirs[k].numpy() == ours[k].numpy()).all() for k in theirs)


def timed(load, path, calls, options):
    start, clock = time.process_time(), time.perf_counter()
    for _ in range(calls):
        load(path, **options)
    return (time.process_time() - start) / calls, (time.perf_counter() - clock) / calls


def compare(name, path, calls, rounds, **options):
    if not same(torch.load(path, **options), rushlight.load(path, **options)):
        raise SystemExit(f"{name}: the results differ, nothing is timed")
    times = {torch: [], rushlight: []}
    for _ in range(rounds):
        for library, taken in times.items():
            taken.append(timed(library.load, path, calls, options))
    (theirs, their_clock), (ours, our_clock) = (
        (min(t) * 1e3 for t in zip(*taken)) for taken in times.values()
    )
    own = f"torch {theirs:9.3f} ms   rushlight {ours:9.3f} ms   {theirs / ours:6.2f}x"
    print(f"{name:24} {own}   ({their_clock / our_clock:.2f}x)")


def opened(path, size):
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
    print(f"{size >> 30} GB, mmap=True, one element read: {taken:.3f} ms, {grown} kB more memory")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 7
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.pt"
        torch.save({f"w{i}": torch.randn(1000, 2000) for i in range(10)}, path)
        compare("CivilNet, 0.25 MB", CIVILNET, 50, rounds)
        compare("80 MB", path, 2, rounds)
        compare("80 MB, mmap=True", path, 20, rounds, mmap=True)
        opened(Path(folder) / "hollow.pt", 10 << 30)


if __name__ == "__main__":
    main()
