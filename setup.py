"""Builds rushlight._C, and rushlight._cuda where nvcc is.

RL_BUILD=release|debug|asan|ubsan|tsan|cov   how
RL_WERROR=1                                  warnings are errors
RUSHLIGHT_CUDA=auto|0|1                      auto: _cuda is skipped, with the reason, where it cannot be built
RUSHLIGHT_CUDA_ARCH="80;90+PTX"              for which GPUs; NVCC or CUDA_HOME say where nvcc is
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
MODE = os.environ.get("RL_BUILD", "release")
WERROR = os.environ.get("RL_WERROR") == "1"
CUDA = os.environ.get("RUSHLIGHT_CUDA", "auto")
CUDA_ARCH = os.environ.get("RUSHLIGHT_CUDA_ARCH", "80;90+PTX")

SANITIZE_UNDEFINED = ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
MODES = {  # compiler options, linker options
    "release": (["-O3", "-DNDEBUG", "-g0"], ["-Wl,-s"]),
    "debug": (["-O0", "-g3", "-UNDEBUG", "-DRL_CHECKED=1"], []),
    "asan": (
        [
            *("-O1", "-g", "-UNDEBUG", "-DRL_CHECKED=1", "-fno-omit-frame-pointer"),
            *("-fsanitize=address", *SANITIZE_UNDEFINED),
        ],
        ["-fsanitize=address,undefined"],
    ),
    "ubsan": (["-O1", "-g", "-UNDEBUG", *SANITIZE_UNDEFINED], ["-fsanitize=undefined"]),
    "tsan": (["-O1", "-g", "-DNDEBUG", "-fsanitize=thread"], ["-fsanitize=thread"]),
    "cov": (["-O0", "-g", "-UNDEBUG", "--coverage"], ["--coverage"]),
}
if MODE not in MODES:
    sys.exit(f"RL_BUILD={MODE}: it is one of {', '.join(MODES)}")
if CUDA not in ("auto", "0", "1"):
    sys.exit(f"RUSHLIGHT_CUDA={CUDA}: it is auto, 0 or 1")


def files(*patterns):
    return sorted(str(p.relative_to(ROOT)) for pattern in patterns for p in ROOT.glob(pattern))


HEADERS = files("csrc/**/*.h", "csrc/**/*.def")
CUDA_GLUE = "csrc/cuda_init.c"


def c_extension():
    compile_args, link_args = MODES[MODE]
    return Extension(
        "rushlight._C",
        [s for s in files("csrc/**/*.c") if s != CUDA_GLUE],
        include_dirs=["csrc"],
        depends=HEADERS,
        extra_compile_args=[
            *("-std=gnu11", "-fvisibility=hidden", "-Wall", "-Wextra", "-fno-math-errno"),
            *compile_args,
            *(["-Werror"] if WERROR else []),
        ],
        extra_link_args=[*link_args, "-ldl", "-lpthread", "-lm"],
    )


def cuda_extension():
    return Extension("rushlight._cuda", [CUDA_GLUE, *files("csrc/cuda/*.cu")], depends=HEADERS)


class Skipped(Exception):
    """Why the CUDA extension cannot be built here."""


def find_nvcc():
    home = os.environ.get("CUDA_HOME")
    for found in (os.environ.get("NVCC"), home and os.path.join(home, "bin", "nvcc"), shutil.which("nvcc")):
        if found and os.path.exists(found):
            return found
    raise Skipped("nvcc was not found (CUDA_HOME or NVCC say where it is)")


def gencode(archs):
    """ "80;90+PTX": machine code for both, and for later GPUs the text to compile at first use."""
    for arch in archs.split(";"):
        number = arch.removesuffix("+PTX")
        code = f"[sm_{number},compute_{number}]" if arch.endswith("+PTX") else f"sm_{number}"
        yield from ("-gencode", f"arch=compute_{number},code={code}")


class BuildExt(build_ext):
    """Compiles on all cores, only what changed, with one folder of objects per way of building."""

    def finalize_options(self):
        super().finalize_options()
        self.build_temp = os.path.join(self.build_temp, MODE + ("-werror" if WERROR else ""))
        self.force = True  # linking is cheap, and a library of another mode would pass for fresh

    def build_extensions(self):
        for ext in list(self.extensions):
            if ext.name == "rushlight._C":
                self.build_extension(ext)
                continue
            try:
                if CUDA == "0":
                    raise Skipped("RUSHLIGHT_CUDA=0")
                self.build_cuda(ext)
            except Skipped as why:
                if CUDA == "1":
                    raise SystemExit(f"RUSHLIGHT_CUDA=1, but {why}") from None
                print(f"rushlight: the CUDA extension is skipped: {why}", flush=True)
                self.extensions.remove(ext)

    def build_extension(self, ext):
        import numpy

        ext.extra_compile_args += ["-isystem", numpy.get_include()]
        compile_serially = self.compiler.compile
        newest_header = max(os.path.getmtime(h) for h in [*ext.depends, __file__])

        def compile_one(source, options):
            (target,) = self.compiler.object_filenames([source], output_dir=options["output_dir"])
            if os.path.exists(target) and os.path.getmtime(target) > max(
                newest_header, os.path.getmtime(source)
            ):
                return [target]
            return compile_serially([source], **options)

        def compile_all(sources, **options):
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                return [o for made in pool.map(lambda s: compile_one(s, options), sources) for o in made]

        self.compiler.compile = compile_all
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_serially

    def build_cuda(self, ext):
        nvcc = find_nvcc()
        out = Path(self.get_ext_fullpath(ext.name))
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [nvcc, "-shared", "-cudart", "static", "--threads", "0", "-Xcompiler"]
        command += ["-fPIC,-fvisibility=hidden,-Wall,-Wextra" + (",-Werror" if WERROR else "")]
        command += ["-O3", "-Xlinker", "-s"] if MODE == "release" else ["-O1", "-g"]
        command += [*gencode(CUDA_ARCH), "-Icsrc", "-I" + sysconfig.get_paths()["include"]]
        done = subprocess.run(
            [*command, *ext.sources, "-o", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise Skipped(f"nvcc failed:\n{done.stdout[-2000:]}")
        print(f"rushlight: built the CUDA extension ({out.stat().st_size >> 10} KB)", flush=True)


setup(ext_modules=[c_extension(), cuda_extension()], cmdclass={"build_ext": BuildExt})
