"""Tries the CUDA extension on a real GPU: python tools/check_gpu.py [build] [sanitize] [tests] [benchmarks]

Needs no more than is there: Python with NumPy, setuptools and pytest, gcc, nvcc, no network. A stage takes at
most eight minutes, keeps what it has done, and says what it found; docs/cuda.md takes it, with date and
machine.

    build        both extensions, for the GPU that is there, into build/cuda-check
    sanitize     one sample of each kernel under compute-sanitizer: memcheck, racecheck, synccheck, initcheck
    tests        tests/cuda, and small operators of the CPU to see that it is the same library
    benchmarks   benchmarks/bench_cuda.py
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cuda_build

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "cuda-check"
PAGE = ROOT / "docs" / "cuda.md"
LIMIT = 8 * 60  # seconds of a stage
CHECKS = ("memcheck", "racecheck", "synccheck", "initcheck")
BEGIN, END = "<!-- what ran on hardware: tools/check_gpu.py -->\n", "<!-- end of what ran on hardware -->\n"


class Stage:
    """Commands with one deadline; each leaves its output in build/cuda-check."""

    def __init__(self, name):
        self.name, self.deadline, self.lines = name, time.monotonic() + LIMIT, []

    def run(self, name, *words, **more):
        settings = {**os.environ, "PYTHONPATH": str(BUILT), "RUSHLIGHT_ONEDNN": "0", **more}
        log = BUILT / f"{name}.log"
        start = time.monotonic()
        with open(log, "w") as out:
            try:
                left = max(self.deadline - start, 1)
                done = subprocess.run(
                    list(map(str, words)), cwd=ROOT, env=settings, stdout=out, stderr=out, timeout=left
                )
                status = "passed" if done.returncode == 0 else f"failed ({done.returncode})"
            except subprocess.TimeoutExpired:
                status = "ran out of time"
            except OSError as why:
                status = f"did not run: {why}"
        text = log.read_text(errors="replace").rstrip()
        self.say(f"{name}: {status}, {time.monotonic() - start:.0f} s", text)
        return text if status == "passed" else None

    def say(self, line, text=""):
        last = text.rpartition("\n")[2][:100]
        self.lines.append(f"* {line}" + (f": `{last}`" if last else ""))
        print(f"{line}\n{text[-3000:] if 'passed' not in line else last}", flush=True)


def gpu():
    """(its name and driver, its compute capability), by nvidia-smi."""
    words = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    try:
        first = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        sys.exit("no NVIDIA GPU is here: nvidia-smi says nothing")
    name, driver, capability = first.split(", ")
    return f"{name}, driver {driver}", capability.replace(".", "")


# ---- the stages ----
def build(stage, arch):
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir(parents=True)
    words = [sys.executable, "setup.py", "-q", "build", "--build-lib", BUILT]
    stage.run("build", *words, RUSHLIGHT_CUDA="1", RUSHLIGHT_CUDA_ARCH=arch)
    stage.run(
        "import",
        sys.executable,
        "-c",
        "import rushlight as r; print(r.ones(3, device='cuda').cpu().tolist())",
    )


def sanitizer():
    nvcc = Path(cuda_build.find_nvcc())
    beside = nvcc.resolve().parent / "compute-sanitizer"
    return shutil.which("compute-sanitizer") or (str(beside) if beside.exists() else None)


def sanitize(stage, arch):
    tool = sanitizer()
    if not tool:
        return stage.say("sanitize: not run, no compute-sanitizer is here")
    for check in CHECKS:
        options = ["--error-exitcode", "9", "--tool", check]
        stage.run(check, tool, *options, sys.executable, "tests/cuda/one_sample.py")


def tests(stage, arch):
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    stage.run("tests", *pytest, "tests/cuda")
    stage.run("tests of the CPU", *pytest, "tests/tensor", "-x")


def benchmarks(stage, arch):
    if table := stage.run("benchmarks", sys.executable, "benchmarks/bench_cuda.py"):
        stage.lines.append(f"\n{table}\n")


STAGES = {"build": build, "sanitize": sanitize, "tests": tests, "benchmarks": benchmarks}


# ---- the page ----
def write(name, machine, lines):
    """The stage's part of docs/cuda.md: the newest run of each stage stays."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    old, end, tail = rest.partition(END)
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", old, flags=re.M | re.S))
    day = datetime.date.today().isoformat()
    parts[name] = f"\n{day}, {machine}\n\n" + "\n".join(lines) + "\n\n"
    body = "".join(f"### {stage}\n{parts[stage]}" for stage in STAGES if stage in parts)
    PAGE.write_text(f"{head}{BEGIN}\n{body}{end}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stages", nargs="*", choices=[*STAGES, []], help="some stages instead of all")
    given = parser.parse_args()
    machine, arch = gpu()
    print(machine, flush=True)
    for name in given.stages or STAGES:
        stage = Stage(name)
        STAGES[name](stage, arch)
        write(name, machine, stage.lines)


if __name__ == "__main__":
    main()
