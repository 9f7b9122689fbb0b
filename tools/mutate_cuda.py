"""Removes each barrier of the CUDA kernels in turn: python tools/mutate_cuda.py [FILE ...]

The simulated device is built once, in a tree of its own, with every barrier behind a question: is it the one
that RUSHLIGHT_WITHOUT_BARRIER names? Then for each barrier the tests of its file's operators run without it,
then all of tests/cuda; or first what --tests names, then those of the operators, which is quicker where a
header has many. They must fail, mostly by a report of the checks; a barrier whose absence nobody notices is
not needed, or not tested. A table of all is printed, as docs/cuda.md has it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "cuda-mutate"
TREE, PACKAGE = WORK / "tree", WORK / "package"
BARRIER = re.compile(r"__sync(threads_\w+|threads|warp)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", flags=re.S)
WITHOUT = "RUSHLIGHT_WITHOUT_BARRIER"
# before a file's first line, so that all lines keep their numbers
ASKED = 'extern "C" int cuda_sim_has_barrier(int number); '
ANSWER = f"""
#include <stdlib.h>
extern "C" int cuda_sim_has_barrier(int number);
extern "C" int cuda_sim_has_barrier(int number) {{
    static const char *const gone = getenv("{WITHOUT}");
    return !gone || atoi(gone) != number;
}}
"""
HANGS = 300  # seconds


def kernel_files():
    folder = ROOT / "csrc" / "cuda"
    return sorted(p for p in folder.rglob("*.cu*") if "sim" not in p.relative_to(folder).parts)


# ---- what to change ----
def end_of_call(text, at):
    """Behind the bracket that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def barriers(text):
    """(begin, end, line, what a vote says without the others) of each."""
    hidden = [found.span() for found in COMMENT.finditer(text)]
    for found in BARRIER.finditer(text):
        if any(start <= found.start() < end for start, end in hidden):
            continue
        end = end_of_call(text, found.end())
        own = f"({text[found.end() - 1 : end]} != 0)" if "_" in found[1] else "((void)0)"
        yield found.start(), end, text.count("\n", 0, found.start()) + 1, own


def ask(text, number):
    """The text with a question before each barrier, of which the first has this number."""
    parts, last = [ASKED], 0
    for begin, end, _line, own in barriers(text):
        barrier = text[begin:end]
        parts += [text[last:begin], f"(cuda_sim_has_barrier({number}) ? {barrier} : {own})"]
        number, last = number + 1, end
    return "".join([*parts, text[last:]])


# ---- a tree of its own, whose objects are links to ours ----
def fill_tree():
    shutil.rmtree(WORK, ignore_errors=True)
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    for folder in ("csrc", "pysrc", "tools"):
        shutil.copytree(ROOT / folder, TREE / folder, ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, TREE / name)
    if (ROOT / "build" / "generated").exists():
        shutil.copytree(ROOT / "build" / "generated", TREE / "build" / "generated")


def build():
    """Compiles what differs from our objects; what the compiler says, if it refuses."""
    objects = TREE / "build" / "objects"
    subprocess.run(["cp", "-al", ROOT / "build" / "objects", objects], check=True)
    words = [sys.executable, "setup.py", "-q", "build", "--build-lib", PACKAGE]
    settings = {**os.environ, "RUSHLIGHT_CUDA": "sim", "RUSHLIGHT_WERROR": "0"}
    done = subprocess.run(words, cwd=TREE, env=settings, capture_output=True, text=True)
    return done.stderr[-2000:] if done.returncode else ""


# ---- what must notice ----
def python(*words, without=0, timeout=None):
    settings = {**os.environ, "RUSHLIGHT_CUDA_SIM": "2", "PYTHONPATH": str(PACKAGE), WITHOUT: str(without)}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=settings, capture_output=True, text=True, timeout=timeout
    )


def operators():
    """{kernel: the operators whose declarations name it}"""
    printed = python("-c", "import json; from rushlight import _C; print(json.dumps(_C._ops_table()))").stdout
    found = {}
    for entry in json.loads(printed):
        for kernel in entry["cuda"].split():
            found.setdefault(kernel.strip(","), []).append(entry["id"])
    return found


def users(path):
    """The .cu files that see a file, by way of others or not."""
    found, todo = set(), [path]
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += [p for p in kernel_files() if re.search(rf'[/"]{re.escape(each.name)}"', p.read_text())]
    return [p for p in found if p.suffix == ".cu"]


def operators_of(path, known):
    files = users(path)
    kernels = [k for p in files for k in re.findall(r"^CUDA_KERNEL\((\w+)\)", p.read_text(), flags=re.M)]
    return sorted({name for kernel in kernels for name in known.get(kernel, ())})


def verdict(printed):
    """Of a failed run: the checks' own words, else the failure."""
    for pattern in (
        r"by thread \d+ of block|meet at one barrier",
        r"AssertionError|Mismatch|Error",
        r"^FAILED",
    ):
        for line in printed.splitlines():
            if re.search(pattern, line):
                return re.sub(r"^E?\s+(AssertionError: )?", "", line).split(", byte ")[0][:110]
    return "the tests end early"


def runs(names, tests):
    """What pytest is told, in turn."""
    generated = "tests/cuda/test_operators.py"
    keywords = " or ".join(f"[{name}-" for name in names)
    chosen = [[generated, "-k", keywords]] if names else []
    if tests:
        return [tests, *chosen]
    return [*chosen, ["tests/cuda", "--deselect", generated, "--ignore", "tests/cuda/test_checks.py"]]


def tested(all_words, without=0):
    """What the tests say without a barrier; empty: nothing."""
    for words in all_words:
        try:
            words = ["-m", "pytest", "-x", "-n", "0", "-q", "--tb=short", *words]
            done = python(*words, without=without, timeout=HANGS)
        except subprocess.TimeoutExpired:
            return "the tests hang"
        if done.returncode not in (0, 5):  # 5: none was chosen
            return verdict(done.stdout + done.stderr)
    return ""


def fill_kernels(files):
    """Puts the questions into the tree, and the answer into the simulator."""
    number = 1
    for path in files:
        text = path.read_text()
        if count := len(list(barriers(text))):
            (TREE / path.relative_to(ROOT)).write_text(ask(text, number))
        number += count
    with (TREE / "csrc" / "cuda" / "sim" / "launch.cpp").open("a") as simulator:
        simulator.write(ANSWER)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="some files of csrc/cuda instead of all")
    parser.add_argument("--tests", nargs="*", help="run first, and then none but the operators'")
    parser.add_argument("--no-baseline", action="store_true", help="the tests pass with all barriers")
    parser.add_argument("--built", action="store_true", help="by the run before, from the same sources")
    given = parser.parse_args()
    files, number, survivors = kernel_files(), 0, []
    if not given.built:
        fill_tree()
        fill_kernels(files)
        if why := build():
            sys.exit(why)
    if why := "" if given.no_baseline else tested(runs([], given.tests)):
        sys.exit(f"the tests fail before anything is removed: {why}")
    known, chosen = operators(), [p.resolve() for p in given.files] or files
    print("| barrier | without it |\n| --- | --- |", flush=True)
    for path in files:
        text = path.read_text()
        for begin, end, line, _own in barriers(text):
            number += 1
            if path not in chosen:
                continue
            found = tested(runs(operators_of(path, known), given.tests), number)
            name = path.relative_to(ROOT / "csrc" / "cuda")
            said = f"`{name}:{line}` `{text[begin:end]}`"
            print(f"| {said} | {found or '**nobody notices**'} |", flush=True)
            survivors += [f"{name}:{line}"] if not found else []
    sys.exit(f"not noticed: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
