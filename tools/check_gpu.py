"""Tries the CUDA extension on a real GPU: python tools/check_gpu.py [build] [sanitize] [tests] [benchmarks]

Needs no more than is there: Python with NumPy, setuptools and pytest, gcc, nvcc, no network. A stage takes at
most eight minutes, keeps what it has done, and says what it found; docs/cuda.md takes it, with date and
machine.

    build        both extensions, for the GPU that is there, into build/cuda-check
    sanitize     one sample of each kernel under compute-sanitizer: memcheck, racecheck, synccheck, initcheck
    tests        tests/cuda, and small operators of the CPU to see that it is the same library
    benchmarks   benchmarks/bench_cuda.py, beside PyTorch where that is installed

    --copy FOLDER   the page and all logs go there after each stage: for machines that are given back
    --seconds n     of a stage

With RUSHLIGHT_CUDA_SIM=1 the simulated device takes the GPU's place, to try this tool itself; the page is
then build/cuda-check/cuda.md.
"""

import argparse
import datetime
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import cuda_build

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "cuda-check"
LOGS = BUILT / "logs"
PAGE = ROOT / "docs" / "cuda.md"
LIMIT = 8 * 60  # seconds of a stage
CHECKS = ("memcheck", "racecheck", "synccheck", "initcheck")
PARTS = 2  # of the samples under each check: compute-sanitizer has ports for ten processes
MOST_LINES = 40  # of what one command found
SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))
BEGIN, END = "<!-- what ran on hardware: tools/check_gpu.py -->\n", "<!-- end of what ran on hardware -->\n"
PYTHON = [sys.executable, "-u"]


class Command:
    """A command in a session of its own, all of which ends at the deadline; its output goes to a log."""

    def __init__(self, name, words, settings):
        self.name, self.start = name, time.monotonic()
        self.log = LOGS / f"{name.replace(' ', '_').replace('/', '-')}.log"
        environment = {**os.environ, "PYTHONPATH": str(BUILT), "RUSHLIGHT_ONEDNN": "0", **settings}
        with open(self.log, "a", encoding="utf-8") as out:
            try:
                self.process = subprocess.Popen(
                    list(map(str, words)),
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            except OSError as why:
                self.process = None
                print(why, file=out)

    def wait(self, deadline):
        """passed, failed (status), or ran out of time"""
        if not self.process:
            return "did not start"
        try:
            code = self.process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            code = None
        try:  # whoever it started, too
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        return "ran out of time" if code is None else "passed" if code == 0 else f"failed ({code})"

    def text(self):
        return self.log.read_text(errors="replace").rstrip()

    def seconds(self):
        return time.monotonic() - self.start


class Stage:
    """What a stage found, in lines for the page; its commands share one deadline."""

    def __init__(self, name, seconds):
        self.name, self.deadline, self.lines = name, time.monotonic() + seconds, []

    def begin(self, name, *words, **settings):
        return Command(name, words, settings)

    def run(self, name, *words, **settings):
        """(did it pass, its output)"""
        command = self.begin(name, *words, **settings)
        status = command.wait(self.deadline)
        self.say(name, status, command.seconds(), command.text())
        return status == "passed", command.text()

    def say(self, name, status, seconds, text, found=()):
        last = text.rpartition("\n")[2][:120]
        self.lines.append(f"* {name}: {status}, {seconds:.0f} s" + (f": `{last}`" if last else ""))
        self.lines += [f"    * `{line[:200]}`" for line in list(dict.fromkeys(found))[:MOST_LINES]]
        shown = last if status == "passed" else text[-3000:]
        print(f"{name}: {status}, {seconds:.0f} s\n{shown}", flush=True)


def gpu():
    """(its name and driver, its compute capability), by nvidia-smi."""
    if SIMULATED:
        return "simulated device", ""
    words = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        name, driver, capability = done.stdout.splitlines()[0].split(", ")
    except (OSError, IndexError, ValueError, subprocess.TimeoutExpired):
        sys.exit("no NVIDIA GPU is here: nvidia-smi says nothing")
    return f"{name}, driver {driver}", capability.replace(".", "")


# ---- the stages ----
def build(stage, arch):
    shutil.rmtree(BUILT / "rushlight", ignore_errors=True)
    words = [*PYTHON, "setup.py", "-q", "build", "--build-lib", BUILT]
    kind = {"RUSHLIGHT_CUDA": "sim"} if SIMULATED else {"RUSHLIGHT_CUDA": "1", "RUSHLIGHT_CUDA_ARCH": arch}
    if stage.run("build", *words, **kind)[0]:
        code = "import rushlight as r; print(r.ones(3, device='cuda').cpu().tolist(), r.__file__)"
        stage.run("import", *PYTHON, "-c", code)


def sanitizer():
    """compute-sanitizer: on the PATH, or with the toolkit that nvcc is of."""
    found = shutil.which("compute-sanitizer")
    if found:
        return found
    toolkit = Path(cuda_build.find_nvcc()).resolve().parents[1]
    places = ("bin", "compute-sanitizer", "extras/compute-sanitizer")
    for path in (toolkit / place / "compute-sanitizer" for place in places):
        if path.exists():
            return str(path)
    return None


def options_of(tool, check):
    """Those of our options that this version knows: memcheck would count each call that a test lets fail."""
    done = subprocess.run([tool, "--help"], capture_output=True, text=True)
    wanted = {
        "--error-exitcode": "9",
        "--launch-timeout": "120",
        "--max-connections": str(4 * PARTS * len(CHECKS)),
        "--print-limit": "20",
        **({"--report-api-errors": "no"} if check == "memcheck" else {}),
    }
    known = [name for name in wanted if name in done.stdout + done.stderr]
    return ["--tool", check, *(word for name in known for word in (name, wanted[name]))]


def sanitize(stage, arch):
    """All checks at once, each in some processes; one that breaks the device goes on behind the culprit."""
    tool = sanitizer()
    if not tool:
        stage.lines.append("* not run: no compute-sanitizer is here")
        return
    running, status, started = {}, {}, time.monotonic()
    jobs = [(check, part) for check in CHECKS for part in range(PARTS)]
    options = {check: options_of(tool, check) for check in CHECKS}
    for check, part in jobs:
        for kind in ("calls", "log"):
            (LOGS / f"{check}-{part}.{kind}").unlink(missing_ok=True)
        running[check, part] = start_samples(stage, tool, options[check], check, part)
    while running:
        for (check, part), command in list(running.items()):
            ended = command.process is None or command.process.poll() is not None
            if not ended and time.monotonic() < stage.deadline:
                continue
            status[check, part] = command.wait(stage.deadline)
            del running[check, part]
            again = " broke the device" in command.text().rpartition("\n")[2]
            if again and stage.deadline - time.monotonic() > 30:
                running[check, part] = start_samples(stage, tool, options[check], check, part)
        time.sleep(0.2)
    for check in CHECKS:
        logs = [LOGS / f"{check}-{part}.log" for part in range(PARTS)]
        text = "\n".join(log.read_text(errors="replace").rstrip() for log in logs)
        found = [
            line for line in text.splitlines() if re.match(r"========= (?!COMPUTE|ERROR SUMMARY: 0)", line)
        ]
        failed = re.findall(r"^\w+ \w+: (?!NotImplementedError$|StopIteration$).*", text, flags=re.M)
        endings = sorted({status[check, part] for part in range(PARTS)} - {"passed"})
        found = [line.removeprefix("========= ").strip() for line in found]
        if endings and not failed + found:
            found = [text.rpartition("\n")[2]]
        seconds = time.monotonic() - started
        ran = sum(len(set(noted(check, part))) for part in range(PARTS))
        stage.say(check, ", ".join(endings) or "passed", seconds, f"{ran} calls", [*failed, *found])


def noted(check, part):
    journal = LOGS / f"{check}-{part}.calls"
    return journal.read_text().splitlines() if journal.exists() else []


def start_samples(stage, tool, options, check, part):
    left = max(stage.deadline - time.monotonic() - 20, 1)
    script = [*PYTHON, "tests/cuda/one_sample.py", "--part", f"{part}/{PARTS}", "--seconds", f"{left:.0f}"]
    return stage.begin(
        f"{check}-{part}", tool, *options, *script, "--journal", LOGS / f"{check}-{part}.calls"
    )


def pytest():
    """Nobody's plugins but xdist, whose processes are replaced when a kernel broke the device for one."""
    words = [*PYTHON, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider"]
    if importlib.util.find_spec("xdist"):
        jobs = max(1, min(len(os.sched_getaffinity(0)), 12))
        words += ["-p", "xdist.plugin", "-n", str(jobs), "--max-worker-restart", "200"]
    return words


def tests(stage, arch):
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    suites = [("tests", "tests/cuda"), ("tests of the CPU", "tests/tensor", "-k", "not CUDA")]
    for name, *which in suites:  # of those, one wants no extension to be there
        command = stage.begin(name, *pytest(), *which, **settings)
        status = command.wait(stage.deadline)
        found = re.findall(r"^(?:FAILED|ERROR) .*|^\S+ broke the device$", command.text(), flags=re.M)
        stage.say(name, status, command.seconds(), command.text(), found)


def benchmarks(stage, arch):
    quick = ["--quick"] if SIMULATED else []
    left = max(stage.deadline - time.monotonic() - 30, 1)
    _, text = stage.run("benchmarks", *PYTHON, "benchmarks/bench_cuda.py", *quick, "--seconds", f"{left:.0f}")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    if rows:
        stage.lines.append("\n" + "\n".join(rows) + "\n")


STAGES = {"build": build, "sanitize": sanitize, "tests": tests, "benchmarks": benchmarks}


# ---- the page ----
def write(page, name, machine, lines):
    """The stage's part of docs/cuda.md: the newest run of each stage stays."""
    head, _, rest = page.read_text().partition(BEGIN)
    old, end, tail = rest.partition(END)
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", old, flags=re.M | re.S))
    day = datetime.date.today().isoformat()
    parts[name] = f"\n{day}, {machine}\n\n" + "\n".join(lines).rstrip() + "\n\n"
    body = "".join(f"### {stage}\n{parts[stage]}" for stage in STAGES if stage in parts)
    page.write_text(f"{head}{BEGIN}\n{body}{end}{tail}")


def copy(page, folder):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, folder / page.name)
    with tarfile.open(folder / "logs.tar.gz", "w:gz") as archive:
        archive.add(LOGS, arcname="logs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stages", nargs="*", help="some stages instead of all", metavar="|".join(STAGES))
    parser.add_argument("--copy", type=Path)
    parser.add_argument("--seconds", type=float, default=LIMIT)
    given = parser.parse_intermixed_args()
    if unknown := set(given.stages) - set(STAGES):
        parser.error(f"no stage: {', '.join(sorted(unknown))}")
    machine, arch = gpu()
    print(machine, flush=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    page = PAGE
    if SIMULATED:
        page = Path(shutil.copy(PAGE, BUILT / PAGE.name))
    for name in given.stages or STAGES:
        stage = Stage(name, given.seconds)
        for old in LOGS.glob(f"{name}*.log"):
            old.unlink()
        try:
            STAGES[name](stage, arch)
        except Exception as why:  # the other stages run, and the page says so
            stage.lines.append(f"* ended by {type(why).__name__}: `{why}`")
            print(stage.lines[-1], flush=True)
        write(page, name, machine, stage.lines)
        if given.copy:
            copy(page, given.copy)


if __name__ == "__main__":
    main()
