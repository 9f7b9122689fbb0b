"""How the sources of csrc/cuda are compiled: by nvcc for GPUs, by the C++ compiler for the simulated device.

setup.py builds the extensions with it; tools and tests compile single files the same way.
"""

import os
import platform
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from build_objects import Objects

ARCHS = "80;90+PTX"
TOOLKITS = ("/usr/local/cuda",)
# Every access of a kernel under a hook of csrc/cuda/sim, or under the sanitizers' own checks.
HOOKS = [
    *("-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0", "-fsanitize=alignment"),
    "-ffp-contract=off",
]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
# The hooks ask at every access whether a kernel runs in this thread.
QUICK_TLS = ["-mtls-dialect=gnu2"] if platform.machine() == "x86_64" else []
COMMON = ["-Icsrc/cuda/sim/include", "-Icsrc", "-std=gnu++17", "-g", "-fPIC", "-fvisibility=hidden"]


def cxx():
    return shlex.split(os.environ.get("CXX", "g++"))


# ---- the simulated device ----
def simulated(objects, *, sanitized=False, is_strict=False):
    """{suffix: who compiles such a file} for kernels, and for the simulated device itself."""
    sanitizers = SANITIZERS if sanitized else []

    def of(*flags):
        flags = [*COMMON, *flags, "-Wall", "-Wextra"]
        return Objects(objects, cxx(), flags, strict=["-Werror"], is_strict=is_strict)

    kernels = of("-x", "c++", "-O1", *(["-ffp-contract=off", *sanitizers] if sanitized else HOOKS))
    return {".cu": kernels, ".cpp": of("-O2", *QUICK_TLS, *sanitizers)}


def link_flags(sanitized=False):
    return [*(SANITIZERS[:1] if sanitized else []), "-ldl", "-lpthread"]


# ---- nvcc ----
class NoCompiler(Exception):
    """Where nvcc was looked for in vain."""


def wheel_folders():
    """Where the wheels nvidia-cuda-nvcc, -runtime, -crt and nvidia-nvvm put a toolkit."""
    found = []
    for place in dict.fromkeys([sysconfig.get_paths()["purelib"], *sys.path]):
        nvidia = Path(place or ".", "nvidia")
        found += sorted(nvidia.glob("cu1[0-9]")) if nvidia.is_dir() else []
    return found


def find_nvcc():
    """NVCC, in CUDA_HOME, on the PATH, in the usual place, or in wheels beside this Python."""
    home = os.environ.get("CUDA_HOME")
    places = [os.environ.get("NVCC"), home and os.path.join(home, "bin", "nvcc"), shutil.which("nvcc")]
    places += [os.path.join(folder, "bin", "nvcc") for folder in (*TOOLKITS, *wheel_folders())]
    for found in places:
        if found and os.path.exists(found):
            return found
    raise NoCompiler("nvcc was not found (CUDA_HOME or NVCC say where it is)")


def gencode(archs):
    """ "80;90+PTX": machine code for both, and for later GPUs the text to compile at first use."""
    for arch in archs.split(";"):
        number = arch.removesuffix("+PTX")
        code = f"[sm_{number},compute_{number}]" if arch.endswith("+PTX") else f"sm_{number}"
        yield from ("-gencode", f"arch=compute_{number},code={code}")


def wheel_libraries(nvcc):
    """Where the wheels keep what a toolkit has in lib64; nvcc.profile does not know it."""
    folder = Path(nvcc).resolve().parents[1]
    return [f"-L{folder / 'lib'}"] if folder.parent.name == "nvidia" else []


def by_nvcc(objects, archs=ARCHS, *, optimised=True, is_strict=False, more=()):
    nvcc = find_nvcc()
    flags = ["-Xcompiler", "-fPIC,-fvisibility=hidden,-Wall,-Wextra", "--threads", "0", "-Icsrc"]
    flags += [*gencode(archs), "-Xfatbin=-compress-all", *more]
    flags += ["-O3"] if optimised else ["-O1", "-g"]
    strict = ["-Werror", "all-warnings", "-Xcompiler", "-Werror"]
    return Objects(objects, [nvcc], flags, strict=strict, is_strict=is_strict)


def nvcc_link(archs=ARCHS):
    nvcc = find_nvcc()
    linked = [*gencode(archs), "-Xfatbin=-compress-all", *wheel_libraries(nvcc)]
    return [nvcc, "-shared", "-cudart", "static", "--no-device-link", *linked]
