"""Compiles the CUDA kernels for one GPU and reads what ptxas says: python tools/check_ptxas.py [--arch 80]

Warnings are errors. A kernel fails that spills registers, has no __launch_bounds__, needs more registers for
its largest block than a multiprocessor has (its launch would fail), or keeps more than 512 bytes on its
stack: CUDA reserves that for every thread the GPU can hold, for good. A table of the files is printed, and
below it the kernels with stacks of more than 128 bytes.
"""

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cuda_build
from build_objects import Objects

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "cuda"
REGISTERS = 65536  # of a block, on every GPU since 2014
MOST_STACK, NAMED_STACK = 512, 128  # bytes of a thread
UNIT = 8  # a thread's registers are given out in eights

ENTRY = r"Compiling entry function '(\w+)' for '\w+'\n(.*?)Used (\d+) registers([^\n]*)"
BOUND = r"\.entry (\w+)\([^)]*\)\s*(?:\.maxntid (\d+)(?:, (\d+))?(?:, (\d+))?)?"


class Kernel(NamedTuple):
    name: str
    registers: int
    threads: int  # 0: without a bound
    spilled: int  # bytes
    shared: int
    stack: int = 0  # bytes of each thread


def read(log, ptx):
    """The kernels of a file, from what ptxas -v printed and from the text it read."""
    threads = {}
    for name, *dims in re.findall(BOUND, ptx):
        x, y, z = (int(n or 1) for n in dims)
        threads[name] = x * y * z if dims[0] else 0
    for name, properties, registers, more in re.findall(ENTRY, log, flags=re.S):
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill", properties)))
        shared = sum(map(int, re.findall(r"(\d+) bytes smem", more)))
        stacks = re.findall(r"(\d+) bytes (?:stack frame|cumulative stack size)", properties + more)
        yield Kernel(
            name, int(registers), threads.get(name, 0), spilled, shared, max(map(int, stacks), default=0)
        )


def problems(kernel):
    if kernel.spilled:
        yield f"spills {kernel.spilled} bytes"
    if kernel.stack > MOST_STACK:
        yield f"has a stack of {kernel.stack} bytes"
    if not kernel.threads:
        yield "has no __launch_bounds__"
    needed = -(-kernel.registers // UNIT) * UNIT * kernel.threads
    if needed > REGISTERS:
        yield f"needs {needed} registers: {kernel.registers} in each of {kernel.threads} threads"


def plain_name(name):
    done = subprocess.run(["c++filt", name], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else name


def compile_file(source, arch):
    """(its kernels, KB of the object); what nvcc complains about ends all."""
    folder = OUT / Path(source).with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    more = ["-Xptxas", "-v", "--keep", "--keep-dir", str(folder)]
    nvcc: Objects = cuda_build.by_nvcc(OUT, arch, is_strict=True, more=more)
    target = folder / "object.o"
    done = subprocess.run(
        [*nvcc.command, "-c", source, "-o", target], capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode != 0:
        sys.exit(f"{source}:\n{done.stdout}{done.stderr}")
    ptx = "\n".join(p.read_text() for p in folder.glob("*.ptx"))
    return list(read(done.stdout + done.stderr, ptx)), target.stat().st_size >> 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="80")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*", help="some .cu files instead of all")
    given = parser.parse_args()
    sources = given.files or sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc/cuda").rglob("*.cu"))
    with ThreadPoolExecutor(given.jobs) as pool:
        compiled = list(pool.map(lambda source: compile_file(source, given.arch), sources))
    wrong = []
    heads = ("kernels", "most registers", "most shared memory", "largest stack", "KB")
    print(f"| file | {' | '.join(heads)} |\n| --- |{' --: |' * len(heads)}")
    for source, (kernels, size) in zip(sources, compiled, strict=True):
        registers, shared, stack = (
            max((getattr(k, what) for k in kernels), default=0) for what in ("registers", "shared", "stack")
        )
        name = source.removeprefix("csrc/cuda/")
        print(f"| {name} | {len(kernels)} | {registers} | {shared} | {stack} | {size} |")
        wrong += [f"{source}: {plain_name(k.name)} {text}" for k in kernels for text in problems(k)]
    print(f"| all | {sum(len(k) for k, _ in compiled)} | | | | {sum(size for _, size in compiled)} |")
    for kernel in (k for kernels, _ in compiled for k in kernels if k.stack > NAMED_STACK):
        print(f"{plain_name(kernel.name)}: a stack of {kernel.stack} bytes")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
