"""What the benchmarks share: the result is checked first, then both libraries run in turns in one process.

    bench = Bench(__doc__)                       reads --quick and --json, says where this runs
    case = bench.compare("relu", repeated(theirs), repeated(ours), check, calls=100, rounds=40)
    bench.say(f"relu {case.ratio:.1f}x")         a line of the script's own table

`check()` raises, or answers False or the text of what is wrong; then nothing is timed. With --json every line
is an object: first the environment, then each case with minimum and median in seconds a call, by the wall
clock and of the process alone ("own").
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
import timeit
from typing import NamedTuple

import rushlight

try:
    import torch
except ImportError as error:
    raise SystemExit("the benchmarks compare with PyTorch: run them in the parity environment") from error


class Times(NamedTuple):
    """Seconds by the wall clock, and of this process alone: what else runs on the machine does not count."""

    wall: float
    own: float

    def __sub__(self, other):
        return Times(self.wall - other.wall, self.own - other.own)

    def __truediv__(self, n):
        return Times(self.wall / n, self.own / n)


def now():
    return Times(time.perf_counter(), time.process_time())


# ---- clocks: from a number of calls to the Times of one ----
def repeated(function):
    def clock(calls):
        start = now()
        for _ in range(calls):
            function()
        return (now() - start) / calls

    return clock


def statement(text, scope):
    """A statement in a loop, without the call of a function around it."""
    timer = timeit.Timer(text, globals=scope, timer=now)
    return lambda calls: timer.timeit(calls) / calls


def part(function):
    """For a function that answers (start, end) of the part of it that counts, by now(); one call a round."""

    def clock(calls):
        start, end = function()
        return end - start

    return clock


# ---- results ----
class Case:
    """The times of both sides, in the order in which they were taken."""

    def __init__(self, theirs, ours, clock):
        self.theirs, self.ours, self.clock = theirs, ours, clock

    def of(self, side, clock=None):
        return [getattr(times, clock or self.clock) for times in getattr(self, side)]

    def min(self, side, clock=None):
        return min(self.of(side, clock))

    def median(self, side, clock=None):
        return statistics.median(self.of(side, clock))

    @property
    def ratio(self):
        """How many times faster: of the minima."""
        return self.min("theirs") / self.min("ours")

    @property
    def neighbours(self):
        """The same as the median of the ratios of neighbouring rounds."""
        return statistics.median(a / b for a, b in zip(self.of("theirs"), self.of("ours")))

    def record(self):
        sides = {"torch": "theirs", "rushlight": "ours"}
        return {
            library: {
                clock: {"min": self.min(side, clock), "median": self.median(side, clock)}
                for clock in Times._fields
            }
            for library, side in sides.items()
        }


# ---- where this runs ----
def processor():
    """Name of the CPU, and the widest instruction set that rushlight's kernels may take."""
    name, flags = platform.processor() or platform.machine(), set()
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    name = value.strip()
                if key.strip() == "flags":
                    flags = set(value.split())
                    break
    except OSError:
        pass
    widest = "avx512" if "avx512f" in flags else "avx2" if "avx2" in flags else "none"
    return name, os.environ.get("RUSHLIGHT_ISA", widest)


def onednn():
    if os.environ.get("RUSHLIGHT_ONEDNN", "").strip().lower() in ("0", "off"):
        return "off"
    try:
        return importlib.metadata.version("onednn-cpu-gomp")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def environment():
    cpu, isa = processor()
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "cpu": cpu,
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "isa": isa,
        "threads": {"torch": torch.get_num_threads(), "rushlight": rushlight.get_num_threads()},
        "versions": {
            "torch": torch.__version__,
            "rushlight": rushlight.__version__,
            "onednn": onednn(),
            "python": platform.python_version(),
        },
    }


class Bench:
    def __init__(self, about, arguments=None):
        parser = argparse.ArgumentParser(description=about.splitlines()[0])
        parser.add_argument("--quick", action="store_true", help="fewer rounds")
        parser.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
        options = parser.parse_args(arguments)
        self.quick, self.json = options.quick, options.json
        self.name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        where = environment()
        self.record(benchmark=self.name, quick=self.quick, **where)
        versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
        threads = " / ".join(str(n) for n in where["threads"].values())
        self.say(f"{where['date']}, {where['cpu']}, {where['cpus']} CPUs, {where['isa']}")
        self.say(f"{versions}; {threads} threads")

    def say(self, line):
        """A line of the table."""
        if not self.json:
            print(line, flush=True)

    def record(self, **fields):
        if self.json:
            print(json.dumps(fields), flush=True)

    def compare(self, name, theirs, ours, check, calls, rounds, clock="wall", **more):
        """Times both sides in turns, once the check has passed; `more` goes into the record."""
        wrong = check()
        if wrong is False or isinstance(wrong, str):
            raise SystemExit(f"{name}: the results differ{f': {wrong}' if wrong else ''}; nothing is timed")
        times = [], []
        for _ in range(rounds):
            for side, taken in zip((theirs, ours), times):
                taken.append(side(calls))
        case = Case(*times, clock)
        self.record(case=name, calls=calls, rounds=rounds, ratio=case.ratio, **case.record(), **more)
        return case
