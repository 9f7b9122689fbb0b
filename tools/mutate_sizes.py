"""Makes each size that kernels ask for too small, in turn: python tools/mutate_sizes.py [--every N]

A tree of its own is built once, in which every RL_COUNT and every rounding of a count in csrc/kernels asks
whether it is the one that is to be too small: by one in its first factor (a row, a copy), or without its
rounding (lanes). Random calls (tests/fuzz) and the cases of tests/ops/test_choosers.py run with all sizes as
they are, which tells the calls that reach a size. Then for each size a child process makes it too small and
runs its calls between fences: it has to end by a fault, by what a fence finds, or with another result. A size
that nobody misses is larger than needed, or not tested. A table of all is printed.
"""

import argparse
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "mutate-sizes"
TREE, PACKAGE = WORK / "tree", WORK / "package"
FOLDERS = ("simd", "ref", "shared")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#.*?(?<!\\)$", flags=re.S | re.M)
SIZE = re.compile(r"\bRL_COUNT\(|\brl_count_round_up\(")
COUNT_H = """
#ifndef RL_MUTATE
#define RL_MUTATE
extern __attribute__((visibility("default"))) int rl_too_small, rl_reached[];
static inline long rl_is_too_small(int number) {
    __atomic_store_n(&rl_reached[number], 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&rl_too_small, __ATOMIC_RELAXED) == number;
}
#endif
"""
ANSWER = """/* Which size is too small, and which were asked for. */
#include "kernel_abi/count.h"
int rl_too_small, rl_reached[4096];
"""
LIMIT = 60  # seconds that the calls of a size may take
ROOM = 1 << 30  # bytes that calls may take beside what the process starts with
MOST = 40  # calls for a size
PATH = ("tests/fuzz", "tests/ops", "tests", "tools")
THREADS = ((1, ""), (2, "apart"), (3, "last"))  # the threads of a chooser's case, and how gradients lie


# ---- what to change ----
def end_of_factor(text, at):
    """Behind the first argument of the call whose bracket stands before `at`."""
    depth = 0
    while depth or text[at] not in ",)":
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        at += 1
    return at


def sizes(text):
    """(begin, end, line, is a rounding) of what is to change of each, in order."""
    hidden, places = [found.span() for found in COMMENT.finditer(text)], []
    for found in SIZE.finditer(text):
        if any(start <= found.start() < end for start, end in hidden):
            continue
        rounds = "round" in found[0]
        at = end_of_factor(text, found.end())
        begin, end = (at + 1, end_of_factor(text, at + 1)) if rounds else (found.end(), at)
        if re.fullmatch(r"\s*\d+\s*", text[begin:end]):  # RL_COUNT(1), of structs
            continue
        places.append((begin, end, text.count("\n", 0, found.start()) + 1, rounds))
    return sorted(places)


def ask(text, number):
    parts, last = [], 0
    for begin, end, _line, rounds in sizes(text):
        factor = text[begin:end].strip()
        small = (
            f"rl_is_too_small({number}) ? 1 : ({factor})"
            if rounds
            else f"({factor}) - rl_is_too_small({number})"
        )
        parts += [text[last:begin], f" {small}"]
        number, last = number + 1, end
    return "".join([*parts, text[last:]])


def places():
    """[(path, line, text of the line)] of all sizes; the first has number 1."""
    found = []
    for folder in FOLDERS:
        files = (ROOT / "csrc" / "kernels" / folder).glob("**/*.*")
        for path in sorted(p for p in files if p.suffix in (".c", ".h", ".inc")):
            text = path.read_text()
            lines = text.splitlines()
            found += [(path, line, lines[line - 1].strip()) for _b, _e, line, _r in sizes(text)]
    return found


# ---- a tree of its own, whose objects are links to ours ----
def build():
    shutil.rmtree(WORK, ignore_errors=True)
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    for folder in ("csrc", "pysrc", "tools"):
        shutil.copytree(ROOT / folder, TREE / folder, ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, TREE / name)
    number = 1
    for path in dict.fromkeys(path for path, _line, _text in places()):
        text = path.read_text()
        (TREE / path.relative_to(ROOT)).write_text(ask(text, number))
        number += len(sizes(text))
    with (TREE / "csrc/kernel_abi/count.h").open("a") as header:
        header.write(COUNT_H)
    (TREE / "csrc/core/too_small.c").write_text(ANSWER)
    words = [sys.executable, "setup.py", "-q", "build", "--build-lib", PACKAGE]
    done = subprocess.run(words, cwd=TREE, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])


# ---- the calls ----
class Calls:
    """Calls whose results are checked, in a package whose sizes can be made too small.

    A number is a random call, compared with the reference kernels; a name is a case of the choosers' tests.
    """

    def __init__(self, seed):
        sys.path[:0] = [str(PACKAGE), *(str(ROOT / name) for name in PATH)]
        import fuzz_difference
        import fuzz_ops
        import test_choosers

        from rushlight import _C

        library = ctypes.CDLL(_C.__file__)
        self.too_small = ctypes.c_int.in_dll(library, "rl_too_small")
        self.reached = (ctypes.c_int * 4096).in_dll(library, "rl_reached")
        self.compare, self.choosers = fuzz_difference.comparer(seed), test_choosers
        fuzz_ops.limit_memory(ROOM)

    def is_wrong(self, call):
        if isinstance(call, int):
            return self.compare(call)
        try:
            self.choosers.compare(call, THREADS)
        except Exception as error:
            return error
        return None

    def reaches(self, call):
        """The sizes that a call asks for; none if it is wrong anyhow, since it would notice nothing."""
        ctypes.memset(self.reached, 0, ctypes.sizeof(self.reached))
        if self.is_wrong(call):
            return []
        return [i for i, hit in enumerate(self.reached) if hit]

    def misses(self, size, calls):
        """Whether the calls notice that a size is too small, in a child; how."""
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(LIMIT)
            self.too_small.value = size
            try:
                os._exit(1 if any(self.is_wrong(call) for call in calls) else 0)
            finally:
                os._exit(2)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        known = {1: "another result", -signal.SIGABRT: "found when freed", -signal.SIGSEGV: "a fault"}
        return known.get(status, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="every nth size")
    parser.add_argument("--only", default="", help="sizes in files of this name")
    parser.add_argument("--calls", type=int, default=20000, help="random calls that are tried")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--built", action="store_true", help="by the run before, from the same sources")
    given = parser.parse_args()
    if not os.environ.get("RUSHLIGHT_FENCE"):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "RUSHLIGHT_FENCE": "1"})
    if not given.built:
        build()
    calls, by_size = Calls(given.seed), {}
    warnings.simplefilter("ignore")
    for at, call in enumerate([*calls.choosers.CASES, *range(given.calls)]):
        for size in calls.reaches(call):
            kept = by_size.setdefault(size, [])
            kept.append(call)
            if len(kept) > MOST and isinstance(kept[old := at % len(kept)], int):
                kept.pop(old)  # the later ones are as good as the first
    survivors = []
    print("| size | too small |\n| --- | --- |", flush=True)
    asked = [(size, place) for size, place in enumerate(places(), 1) if given.only in ("", place[0].name)]
    for size, (path, line, text) in asked[:: given.every]:
        where = f"{path.relative_to(ROOT / 'csrc' / 'kernels')}:{line}"
        said = calls.misses(size, by_size.get(size, []))
        missing = "**nobody notices**" if size in by_size else "**no call asks for it**"
        print(f"| `{where}` `{text}` | {said or missing} |", flush=True)
        survivors += [where] if not said else []
    total = len(asked[:: given.every])
    print(f"{total - len(survivors)} of {total} noticed")
    sys.exit(f"not noticed: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
