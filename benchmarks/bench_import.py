"""The time of `import torch` with nn and optim, above that of an empty program: processes of their own."""

import subprocess
import sys
import time

from harness import Bench, Times

PROGRAMS = {
    library: f"import {library} as torch, {library}.nn, {library}.optim; torch.nn.Linear, torch.optim.SGD"
    for library in ("torch", "rushlight")
}


def seconds(program):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def clock(library):
    """Of one process a round, less the time of an empty one that runs just before."""

    def once(calls):
        empty = min(seconds("pass") for _ in range(calls))
        wall = min(seconds(PROGRAMS[library]) for _ in range(calls)) - empty
        return Times(wall, wall)

    return once


def main():
    bench = Bench(__doc__)
    for library in PROGRAMS:
        seconds(PROGRAMS[library])  # writes the bytecode
    rounds = 3 if bench.quick else 15
    case = bench.compare("import", clock("torch"), clock("rushlight"), lambda: True, 2, rounds)
    a, b = (case.min(side) * 1e3 for side in ("theirs", "ours"))
    bench.say(f"import: torch {a:.0f} ms   rushlight {b:.1f} ms   {case.ratio:.0f}x")


if __name__ == "__main__":
    main()
