"""Counts the instructions of small operations under callgrind and compares them with instructions.txt.

python benchmarks/count_instructions.py [--record] [--pass-on-other-tools] [--totals]

Counts the rushlight that this interpreter imports. The exit status is 1 when a count rose by more than
2 %, 2 when nothing could be compared.
"""

import argparse
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.txt"
LIMIT = 2  # per cent
PROBE = "interpreter"
HEAD = """\
# Instructions of small operations under callgrind: RUSHLIGHT_ISA=none, no oneDNN, one thread, the empty
# loop subtracted.
# `make instructions` compares and fails above +2 %; `make instructions-record` writes this file anew.
# A commit that raises a figure says why in its message. Counts of other tools than these cannot be compared;
# "interpreter" is what some plain Python costs and tells other builds of the same versions.
"""
HELPER = """\
#include <valgrind/callgrind.h>
void count_begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void count_start(void) { CALLGRIND_ZERO_STATS; }
void count_stop(char const *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""
# What lies where in memory decides which names share a slot of the interpreter's method cache and how far
# malloc looks for a free block (linear: up to 2.6 %). Of several layouts the least count is kept.
LAYOUTS = tuple("-" * length for length in (1, 18, 35, 52, 69, 86))
INSTALL = "(Debian: apt install valgrind)"


class CannotCount(Exception):
    """Why nothing can be measured or compared here."""


# ---- the record ----
def parse(text):
    """The tools and the counts of instructions.txt."""
    tools, counts = {}, {}
    for line in filter(None, text.splitlines()):
        if not line.startswith("#"):
            name, number = line.rsplit(None, 1)
            counts[name] = int(number)
        elif found := re.match(r"# (python|compiler|libc|valgrind|machine): (.*)", line):
            tools[found[1]] = found[2]
    return tools, counts


def render(tools, counts, build):
    head = "".join(f"# {tool}: {version}\n" for tool, version in tools.items())
    return f"{HEAD}# build: {build}\n{head}" + "".join(f"{n:<32}{c:>8}\n" for n, c in counts.items())


def other_tools(recorded, now):
    """What keeps two measurements, pairs of tools and counts, from being compared; a list of texts."""
    (then_tools, then), (tools, counts) = recorded, now
    differences = [
        f"{tool}: recorded with {then_tools.get(tool, 'an unknown one')}, here {version}"
        for tool, version in tools.items()
        if then_tools.get(tool) != version
    ]
    before, after = then.get(PROBE, 0), counts[PROBE]
    if not differences and abs(after - before) * 100 > before:
        differences = [
            f"the same versions, but plain Python took {before} instructions and takes {after} here"
        ]
    return differences


def compare(recorded, counts):
    """Rows of name, recorded, now, per cent, remark; and the names of the operations that fail."""
    rows, failed = [], []
    for name in [*recorded, *(n for n in counts if n not in recorded)]:
        before, after = recorded.get(name), counts.get(name)
        if name == PROBE:
            continue
        if before is None or after is None:
            rows.append((name, before, after, None, "not recorded" if before is None else "not counted"))
            failed.append(name)
            continue
        rose = after * 100 > before * (100 + LIMIT)
        fell = after * 100 < before * (100 - LIMIT)
        remark = "MORE" if rose else "less: record it" if fell else ""
        rows.append((name, before, after, (after / before - 1) * 100, remark))
        if rose:
            failed.append(name)
    return rows, failed


def table(rows):
    lines = [f"{'instructions':<32}{'recorded':>10}{'now':>10}{'%':>9}"]
    for name, before, after, change, remark in rows:
        numbers = "".join(f"{'-' if n is None else n:>10}" for n in (before, after))
        change = "-" if change is None else f"{change:+.2f}"
        lines.append(f"{name:<32}{numbers}{change:>9}  {remark}".rstrip())
    return "\n".join(lines)


# ---- the measurement ----
def run(*command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    except FileNotFoundError:
        raise CannotCount(f"{command[0]} is missing") from None
    if done.returncode != 0:
        raise CannotCount(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def find_package():
    spec = importlib.util.find_spec("rushlight")
    libraries = [p for p in Path(spec.origin).parent.glob("_C.*.so")] if spec else []
    if not libraries:
        raise CannotCount("rushlight is not built for this interpreter: `make .venv/.installed`")
    (library,) = libraries
    return library.parent, library.read_bytes()


def revision():
    """The commit that changed the sources last."""
    sources = ["--", "csrc", "pysrc", "setup.py"]
    try:
        commit = run("git", "log", "-1", "--format=%h", *sources, cwd=HERE.parent).strip()
        changed = run("git", "status", "--porcelain", *sources, cwd=HERE.parent).strip()
    except CannotCount:
        return "not in git"
    return commit + (" and what this commit changes" if changed else "")


def tools_of(library, valgrind):
    """The versions that must agree for counts to be compared."""
    if b"__assert_fail" in library:
        raise CannotCount("this rushlight has its asserts compiled in: the release build is what is counted")
    built_with = sorted(set(re.findall(rb"(GCC|clang version)[^\0]*? (\d+\.\d+\.\d+)[^\0]*\0", library)))
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}, "
        + platform.python_compiler(),
        "compiler": ", ".join(f"{name.decode()} {version.decode()}" for name, version in built_with),
        "libc": " ".join(platform.libc_ver()),
        "valgrind": run(valgrind, "--version").strip().removeprefix("valgrind-"),
        "machine": platform.machine(),
    }


def totals_of(dumps):
    """name -> (instructions, loops), from the files that callgrind wrote.

    "summary" is the counter; "totals", the sum over functions, holds what ran before the start as well.
    """
    totals = {}
    for dump in dumps:
        text = dump.read_text()
        trigger = re.search(r"^desc: Trigger: Client Request: (.*) \* (\d+)$", text, re.M)
        if trigger:
            totals[trigger[1], int(trigger[2])] = int(re.search(r"^summary: (\d+)$", text, re.M)[1])
    return {
        name: (total - totals["empty", loops], loops)
        for (name, loops), total in totals.items()
        if name != "empty"
    }


def count(package, valgrind, totals=False):
    """name -> instructions, of a copy of the package at a path that has the same length everywhere."""
    python = getattr(sys, "_base_executable", sys.executable)
    environment = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    environment |= {"RUSHLIGHT_ISA": "none", "RUSHLIGHT_ONEDNN": "0"}
    if "LD_LIBRARY_PATH" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        folder /= "x" * max(1, 99 - len(str(folder)))
        shutil.copytree(package, folder / "rushlight", ignore=shutil.ignore_patterns("__pycache__", "_cuda*"))
        shutil.copy(HERE / "counted_loops.py", folder)
        (folder / "helper.c").write_text(HELPER)
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "cc")
        try:
            run(compiler, "-O1", "-shared", "-fPIC", "helper.c", "-o", "helper.so", cwd=folder)
        except CannotCount as why:
            raise CannotCount(f"valgrind's headers and a C compiler are needed {INSTALL}\n{why}") from None
        program = [python, "-s", "-S", "counted_loops.py", "./helper.so"]
        run(*program, LAYOUTS[0], cwd=folder, env=environment)  # checks the results, writes the .pyc files

        def count_layout(layout):
            # beside the folder: the import system lists the folder, and its list would take room
            out = f"counts.{len(layout):03}"
            options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file=../{out}"]
            run(valgrind, *options, *program, layout, cwd=folder, env=environment)
            dumps = folder.parent.glob(f"{out}.*")
            return totals_of(sorted(dumps, key=lambda dump: int(dump.suffix[1:])))

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            measured = list(pool.map(count_layout, LAYOUTS))
    if totals:
        print(*measured, sep="\n")
    least = {name: min(m[name][0] for m in measured) for name in measured[0]}
    return {name: round(least[name] / loops) for name, (_, loops) in measured[0].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write instructions.txt anew")
    parser.add_argument("--pass-on-other-tools", action="store_true", help="exit with 0 when tools differ")
    parser.add_argument("--totals", action="store_true", help="also print what each layout of memory gave")
    options = parser.parse_args()
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CannotCount(f"valgrind is missing {INSTALL}")
    package, library = find_package()
    tools = tools_of(library, valgrind)
    counts = count(package, valgrind, options.totals)
    recorded = parse(RECORD.read_text()) if RECORD.exists() else ({}, {})
    rows, failed = compare(recorded[1], counts)
    print(table(rows))
    if options.record:
        RECORD.write_text(render(tools, counts, f"release, {revision()}"))
        print(f"written to {RECORD.name}; a commit that raises a figure says why in its message")
        return 0
    differences = other_tools(recorded, (tools, counts))
    if differences:
        print(f"\nNOT COMPARED: {RECORD.name} was recorded with other tools, its figures mean nothing here.")
        print(*(f"  {difference}" for difference in differences), sep="\n")
        print("Use the recorded tools; or compare with what this machine counts for the unchanged commit:")
        print("  git stash; make instructions-record; git stash pop; make instructions")
        print(f"and leave {RECORD.name} as it was, unless the project changes its tools.")
        return 0 if options.pass_on_other_tools else 2
    if failed:
        print(f"\nmore than {LIMIT} % above {RECORD.name}, or missing: {'; '.join(failed)}")
        print("Find what costs; if it is worth it, `make instructions-record`, and the commit says why.")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotCount as why:
        print(f"instructions cannot be counted: {why}", file=sys.stderr)
        sys.exit(2)
