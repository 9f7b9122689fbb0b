"""Which branches of the kernels' choosers the tests take, by gcov: make choosers.

A chooser is a function of csrc/kernels behind the word RL_CHOOSER: it refuses a call, or plans how it is
computed. The tests of the operators run once for each instruction set, with oneDNN and without; a branch that
any of them takes is taken. RL_UNREACHED("reason") above a statement names branches
that no test can take. The others are listed, and fail.

    python tools/choosers.py --library build/cov/lib... [--python .venv/bin/python] [--report] [TESTS ...]
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "csrc" / "kernels"
MARK, UNREACHED = "RL_CHOOSER", re.compile(r'RL_UNREACHED\("([^"]*)"\)')
NAME = re.compile(r"RL_KERNEL\((\w+)\)|(\w+)\)?\(")
TESTS = [f"tests/ops/test_{each}.py" for each in ("choosers", "memory", "ops", "empty_rows")]
RUNS = [{"RUSHLIGHT_ISA": isa, "RUSHLIGHT_ONEDNN": "1"} for isa in ("", "avx2", "none")]
RUNS.append({"RUSHLIGHT_ISA": "", "RUSHLIGHT_ONEDNN": "0"})


def choosers(text):
    """[(name, first line, last line, {line: reason})] of a source's marked functions."""
    lines, found = text.splitlines(), []
    for at, line in enumerate(lines):
        if line != MARK:
            continue
        end = next(i for i in range(at, len(lines)) if lines[i] == "}")
        name = NAME.search(lines[at + 1])
        reasons = {}
        for i in range(at, end):
            if said := UNREACHED.search(lines[i]):
                last = next(j for j in range(i + 1, end + 1) if lines[j].rstrip().endswith((";", "{", "}")))
                reasons |= {j + 1: said[1] for j in range(i + 1, last + 1)}
        found.append((name[1] or name[2], at + 2, end + 1, reasons))
    return found


def c_files():
    return sorted(p for p in KERNELS.rglob("*") if p.suffix in (".c", ".h", ".inc"))


def read_choosers():
    """{source: its choosers}"""
    sources = {str(p.relative_to(ROOT)): choosers(p.read_text()) for p in c_files()}
    return {source: found for source, found in sources.items() if found}


def notes(objects):
    """The newest gcov notes of each source of csrc/kernels."""
    newest = {}
    for path in sorted(objects.rglob("csrc/kernels/**/*.gcno"), key=lambda p: p.stat().st_mtime):
        newest[path.as_posix().rpartition("/csrc/kernels/")[2]] = path
    return list(newest.values())


def take(python, library, tests):
    """Runs the tests once for each of RUNS, as many at a time as there are cores."""

    def run(variables):
        words = " ".join(f"{name}={value}" for name, value in variables.items() if value)
        environment = os.environ | variables | {"PYTHONPATH": str(library.resolve())}
        environment = {name: value for name, value in environment.items() if value}
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", *tests]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        print(f"rushlight: {words}\n{done.stdout[-3000 if done.returncode else -100 :]}", flush=True)
        return f"the tests fail with {words}" if done.returncode else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if failed := list(filter(None, pool.map(run, RUNS))):
            sys.exit("\n".join(failed))


def branches(note):
    """(source, line, number of the branch, how often it was taken) of one object."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", note.name]
    done = subprocess.run(command, cwd=note.parent, capture_output=True, text=True)
    found = []
    for part in filter(None, done.stdout.splitlines()):
        for file in json.loads(part)["files"]:
            for line in file["lines"]:
                for i, branch in enumerate(line["branches"]):
                    if not branch["throw"]:
                        found.append((file["file"], line["line_number"], i, branch["count"]))
    return found


def count(objects):
    """{source: {line: {branch: how often}}}"""
    counts = defaultdict(lambda: defaultdict(Counter))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(branches, notes(objects)):
            for source, line, i, taken in found:
                counts[source][line][i] += taken
    return counts


def absent(python):
    """Components of kernels whose library is not installed: {folder: why they are left out}."""
    has_scipy = subprocess.run([python, "-c", "import scipy"], capture_output=True).returncode == 0
    return {} if has_scipy else {"lapack": "without SciPy"}


def report(counts, left_out):
    """Prints the table; returns how many branches nothing took and nobody explained."""
    print(f"\n{'chooser':58} {'branches':>8} {'taken':>6} {'unreached':>9} {'missing':>8}")
    sums, missing = defaultdict(Counter), []
    for source, found in read_choosers().items():
        tier = Path(source).relative_to("csrc/kernels").parts[0]
        if tier in left_out:
            continue
        text = (ROOT / source).read_text().splitlines()
        for name, first, last, reasons in found:
            row = Counter()
            for line in range(first, last + 1):
                for i, taken in sorted(counts[source][line].items()):
                    state = "taken" if taken else "unreached" if line in reasons else "missing"
                    row.update(("branches", state))
                    if state == "missing":
                        missing.append(f"{source}:{line}: branch {i} of: {text[line - 1].strip()}")
            sums[tier].update(row)
            sums["all"].update(row)
            where = f"{Path(source).relative_to('csrc/kernels')} {name}"
            print(f"{where:58} {row['branches']:8} {row['taken']:6} {row['unreached']:9} {row['missing']:8}")
    for name, row in sums.items():
        print(f"{name:58} {row['branches']:8} {row['taken']:6} {row['unreached']:9} {row['missing']:8}")
    for name, why in left_out.items():
        print(f"{name} is left out: {why}")
    print(*missing, sep="\n")
    return len(missing)


def main():
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--python", default=sys.executable, help="runs the tests")
    asked.add_argument("--library", type=Path, default=ROOT / "build" / "cov", help="built for coverage")
    asked.add_argument("--objects", type=Path, default=ROOT / "build" / "objects", help="of that build")
    asked.add_argument("--report", action="store_true", help="of what ran before")
    asked.add_argument("tests", nargs="*", default=TESTS)
    a = asked.parse_args()
    if not a.report:
        for path in a.objects.rglob("*.gcda"):
            path.unlink()
        take(a.python, a.library, a.tests)
    if "avx512f" not in Path("/proc/cpuinfo").read_text():
        print("this CPU has no AVX-512: its branches count as missing")
    sys.exit(bool(report(count(a.objects), absent(a.python))))


if __name__ == "__main__":
    main()
