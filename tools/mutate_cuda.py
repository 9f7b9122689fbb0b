"""Removes each barrier of the CUDA kernels in turn: python tools/mutate_cuda.py [FILE ...]

Each time the file is compiled anew and the tests of its operators run on the simulated device, then all of
tests/cuda. They must fail, mostly by a report of the checks; a barrier whose absence nobody notices is not
needed, or not tested. A table of all is printed, as docs/cuda.md has it.
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
HANGS = 300  # seconds


# ---- what to change ----
def end_of_call(text, at):
    """Behind the bracket that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def mutants(text):
    """(line, the barrier, the text without it); a vote keeps what the thread itself says."""
    hidden = [found.span() for found in COMMENT.finditer(text)]
    for found in BARRIER.finditer(text):
        if any(start <= found.start() < end for start, end in hidden):
            continue
        end = end_of_call(text, found.end())
        own = f"({text[found.end() - 1 : end]} != 0)" if "_" in found[1] else "((void)0)"
        line = text.count("\n", 0, found.start()) + 1
        yield line, text[found.start() : end], text[: found.start()] + own + text[end:]


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
    shutil.rmtree(objects, ignore_errors=True)
    subprocess.run(["cp", "-al", ROOT / "build" / "objects", objects], check=True)
    words = [sys.executable, "setup.py", "-q", "build", "--build-lib", PACKAGE]
    settings = {**os.environ, "RUSHLIGHT_CUDA": "sim", "RUSHLIGHT_WERROR": "0"}
    done = subprocess.run(words, cwd=TREE, env=settings, capture_output=True, text=True)
    return done.stderr[-2000:] if done.returncode else ""


# ---- what must notice ----
def python(*words, timeout=None):
    settings = {**os.environ, "RUSHLIGHT_CUDA_SIM": "2", "PYTHONPATH": str(PACKAGE)}
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
            todo += [p for p in path.parent.glob("*.*") if f'"{each.name}"' in p.read_text()]
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


def tested(names, ignored):
    """What the tests say of the library as it is now; empty: nothing."""
    keywords = " or ".join(f"[{name}-" for name in names)
    rest = [
        "tests/cuda",
        "--deselect",
        "tests/cuda/test_operators.py",
        *(f"--ignore=tests/cuda/{name}" for name in ignored),
    ]
    for words in ([*(["tests/cuda/test_operators.py", "-k", keywords] if names else [])], rest):
        if not words:
            continue
        try:
            done = python("-m", "pytest", "-x", "-n", "0", "-q", "--tb=short", *words, timeout=HANGS)
        except subprocess.TimeoutExpired:
            return "the tests hang"
        if done.returncode not in (0, 5):  # 5: none was chosen
            return verdict(done.stdout + done.stderr)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="some files of csrc/cuda instead of all")
    parser.add_argument("--ignore", nargs="*", default=[], metavar="test_x.py", help="of tests/cuda")
    given = parser.parse_args()
    fill_tree()
    if why := build():
        sys.exit(why)
    ignored = ["test_checks.py", *given.ignore]
    known, survivors = operators(), []
    if why := tested([], ignored):
        sys.exit(f"the tests fail before anything is changed: {why}")
    print("| barrier | without it |\n| --- | --- |", flush=True)
    folder = ROOT / "csrc" / "cuda"
    for path in [p.resolve() for p in given.files] or sorted([*folder.glob("*.cu"), *folder.glob("*.h")]):
        names, copy = operators_of(path, known), TREE / path.relative_to(ROOT)
        for line, barrier, changed in mutants(path.read_text()):
            copy.write_text(changed)
            found = build() or tested(names, ignored)
            shutil.copy2(path, copy)
            print(f"| `{path.name}:{line}` `{barrier}` | {found or '**nobody notices**'} |", flush=True)
            survivors += [f"{path.name}:{line}"] if not found else []
    sys.exit(f"not noticed: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
