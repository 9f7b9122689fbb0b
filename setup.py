"""Builds rushlight._C, and where it is asked for rushlight._cuda.

RUSHLIGHT_BUILD=release|debug|asan|ubsan|tsan|cov   how
RUSHLIGHT_WERROR=1                                  warnings are errors
RUSHLIGHT_SCALAR_ISA=1                              on x86-64 the scalar vectors of other CPUs, too
RUSHLIGHT_CUDA=0|1|auto|sim                  auto: _cuda is skipped, with the reason, where it fails to build;
                                             sim: _cuda_sim is built, the simulated device of the tests
RUSHLIGHT_CUDA_ARCH="80;90+PTX"              for which GPUs; NVCC or CUDA_HOME say where nvcc is
"""

import itertools
import os
import platform
import shlex
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))
import cuda_build  # noqa: E402
from build_objects import Failed, Objects, link, make_all, renew  # noqa: E402
from operator_help import c_source  # noqa: E402

MODE = os.environ.get("RUSHLIGHT_BUILD", "release")
WERROR = os.environ.get("RUSHLIGHT_WERROR") == "1"
SCALAR_ISA = os.environ.get("RUSHLIGHT_SCALAR_ISA") == "1"
CUDA = os.environ.get("RUSHLIGHT_CUDA", "0")
CUDA_ARCH = os.environ.get("RUSHLIGHT_CUDA_ARCH", cuda_build.ARCHS)

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
    sys.exit(f"RUSHLIGHT_BUILD={MODE}: it is one of {', '.join(MODES)}")
if CUDA not in ("auto", "0", "1", "sim"):
    sys.exit(f"RUSHLIGHT_CUDA={CUDA}: it is auto, 0, 1 or sim")


def files(*patterns):
    return sorted(str(p.relative_to(ROOT)) for pattern in patterns for p in ROOT.glob(pattern))


HEADERS = files("csrc/**/*.h", "csrc/**/*.inc", "csrc/**/*.def")
CUDA_GLUE = "csrc/cuda_init.c"
CUDA_SIM_GLUE = "csrc/cuda_sim_init.c"
# of both extensions: what the host computes before a kernel begins
CUDA_SHARED = ["csrc/kernels/shared/optim.c", "csrc/kernels/shared/random_range.c"]
NUMPY_GLUE = "csrc/object/numpy.c"
ISA_READERS = ("csrc/kernels/simd/", "csrc/core/services.c")  # of csrc/kernel_abi/isa_list.h
HELP = "build/generated/operator_help.c"  # what help() says, from the declarations

C_FLAGS = ["-std=gnu11", "-fvisibility=hidden", "-Wall", "-Wextra", "-fno-math-errno", *MODES[MODE][0]]
LINK_FLAGS = MODES[MODE][1]
# the interpreter's flags that matter, for what is compiled once for all interpreters
SHARED_FLAGS = ["-fwrapv", "-fPIC"]


def python_free_components():
    """The components of csrc/components.toml that do not know Python.h."""
    components = tomllib.loads((ROOT / "csrc" / "components.toml").read_text())
    return {name for name, component in components.items() if not component["python"]}


PYTHON_FREE = python_free_components()


def knows_python(source):
    return source != HELP and not any(str(p) in PYTHON_FREE for p in Path(source).relative_to("csrc").parents)


def c_extension():
    sources = [s for s in files("csrc/**/*.c") if s not in (CUDA_GLUE, CUDA_SIM_GLUE)]
    return Extension("rushlight._C", [*sources, HELP], depends=HEADERS)


def cuda_extension():
    sources = [CUDA_GLUE, *CUDA_SHARED, *files("csrc/cuda/**/*.cu")]
    if CUDA == "sim":
        sources = [CUDA_SIM_GLUE, *sources, *files("csrc/cuda/sim/*.cpp")]
        return Extension("rushlight._cuda_sim", sources, depends=HEADERS)
    return Extension("rushlight._cuda", sources, depends=HEADERS)


class Skipped(Exception):
    """Why the CUDA extension cannot be built here."""


class BuildExt(build_ext):
    """Compiles on all cores, only what changed; what needs no Python.h, once for all interpreters."""

    def finalize_options(self):
        super().finalize_options()
        self.force = True  # in place, a library of another mode would pass for fresh

    def build_extensions(self):
        self.objects = Path(self.get_finalized_command("build").build_base, "objects")
        for ext in list(self.extensions):
            try:
                self.builder_of(ext)(ext)
            except Failed as why:
                raise CompileError(str(why)) from None
            except Skipped as why:
                if CUDA == "1":
                    raise SystemExit(f"RUSHLIGHT_CUDA=1, but {why}") from None
                print(f"rushlight: the CUDA extension is skipped: {why}", flush=True)
                self.extensions.remove(ext)

    def builder_of(self, ext):
        builders = {"rushlight._C": self.build_c, "rushlight._cuda_sim": self.build_cuda_sim}
        return builders.get(ext.name, self.build_cuda)

    def build_c(self, ext):
        renew(ROOT / HELP, c_source())
        without, with_python, with_numpy = self.python_free(), self.python(), self.numpy()
        with_scalar = self.python_free("-DRL_SCALAR_ISA=1", "-Wno-psabi") if SCALAR_ISA else without

        def objects_of(source):
            if source.startswith(ISA_READERS):
                return with_scalar
            return with_numpy if source == NUMPY_GLUE else with_python if knows_python(source) else without

        objects = self.compile(ext, objects_of)
        options = [*LINK_FLAGS, "-ldl", "-lpthread", "-lm"]
        self.link(ext, self.compiler.linker_so, objects, options, with_python.folder)

    def build_cuda(self, ext):
        with_python, of = self.python(), {".c": self.python_free()}
        try:
            of[".cu"] = cuda_build.by_nvcc(
                self.objects, CUDA_ARCH, optimised=MODE == "release", is_strict=WERROR
            )
            objects = self.compile(
                ext, lambda source: with_python if knows_python(source) else of[Path(source).suffix]
            )
            options = [word for flag in LINK_FLAGS for word in ("-Xcompiler", flag.replace(",", r"\,"))]
            built = self.link(ext, cuda_build.nvcc_link(CUDA_ARCH), objects, options, with_python.folder)
        except cuda_build.NoCompiler as why:
            raise Skipped(str(why)) from None
        except Failed as why:
            raise Skipped(f"nvcc failed:\n{str(why)[-2000:]}") from None
        print(f"rushlight: built the CUDA extension ({built.stat().st_size >> 10} KB)", flush=True)

    def build_cuda_sim(self, ext):
        """The sources of _cuda by the C++ compiler, every access of a kernel under a check."""
        sanitized = MODE == "asan"
        glue = self.python("simulated", flags=["-DRL_CUDA_SIM"])
        of = cuda_build.simulated(self.objects, sanitized=sanitized, is_strict=WERROR)
        of[".c"] = self.python_free()
        objects = self.compile(ext, lambda source: glue if knows_python(source) else of[Path(source).suffix])
        options = cuda_build.link_flags(sanitized)
        self.link(ext, [*cuda_build.cxx(), "-shared"], objects, options, glue.folder)

    # ---- who compiles what ----
    def c_objects(self, command, flags, **options):
        flags = ["-Icsrc", *flags, *C_FLAGS]
        return Objects(self.objects, command, flags, strict=["-Werror"], is_strict=WERROR, **options)

    def python_free(self, *flags):
        """The compiler with no path to Python's headers and none of the interpreter's own flags."""
        compiler = itertools.takewhile(lambda word: not word.startswith("-"), self.compiler.compiler_so)
        command = shlex.split(os.environ.get("CC", "")) or list(compiler)
        given = [word for name in ("CPPFLAGS", "CFLAGS") for word in shlex.split(os.environ.get(name, ""))]
        return self.c_objects(command, [*SHARED_FLAGS, *given, *flags])

    def python(self, about="", flags=(), **options):
        of_environment = os.path.join(sys.exec_prefix, "include")  # of a venv: nothing is there
        folders = [f"-I{folder}" for folder in self.compiler.include_dirs if folder != of_environment]
        about = f"{sysconfig.get_config_var('SOABI')} {platform.python_version()} {about}"
        return self.c_objects(self.compiler.compiler_so, [*folders, *flags], about=about, **options)

    def numpy(self):
        import numpy

        return self.python(f"numpy {numpy.__version__}", hidden=["-isystem", numpy.get_include()])

    def compile(self, ext, objects_of):
        made, compiled = make_all([(objects_of(source), source) for source in ext.sources])
        print(f"rushlight: {ext.name}: compiled {compiled} of {len(made)} files", flush=True)
        return made

    def link(self, ext, command, objects, options, folder):
        """Links in the folder of objects, and puts a copy where setuptools wants the extension."""
        wanted = Path(self.get_ext_fullpath(ext.name))
        built = folder / wanted.name
        link(command, objects, options, built)
        wanted.parent.mkdir(parents=True, exist_ok=True)
        wanted.unlink(missing_ok=True)
        shutil.copy(built, wanted)
        return built


extensions = [c_extension()] if CUDA == "0" else [c_extension(), cuda_extension()]
setup(ext_modules=extensions, cmdclass={"build_ext": BuildExt})
