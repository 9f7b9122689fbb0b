"""What is built: the stub is up to date, sources compile as their contracts say, the package is small."""

import ast
import importlib.util
import inspect
import keyword
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import make_stub
import rushlight
from rushlight import _C

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(rushlight.__file__).parent


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


# ---- the stub ----
def test_stub_is_up_to_date(tmp_path):
    stub = ROOT / "pysrc" / "rushlight" / "_C.pyi"
    written = tmp_path / "_C.pyi"  # by a fresh interpreter: modules imported by other tests add names to _C
    run(sys.executable, ROOT / "tools" / "make_stub.py", written, check=True)
    assert stub.read_text() == written.read_text(), "run `make stubs`"


def test_stubs_of_packages_are_up_to_date(tmp_path):
    run(sys.executable, "-W", "ignore", ROOT / "tools" / "make_package_stubs.py", tmp_path, check=True)
    for written in tmp_path.rglob("*.pyi"):
        stub = ROOT / "pysrc" / "rushlight" / written.relative_to(tmp_path)
        assert stub.read_text() == written.read_text(), "run `make stubs`"


def test_stub_is_python_and_names_every_operator():
    tree = ast.parse(make_stub.stub(_C))
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    classes = {
        n.name: {f.name for f in n.body if isinstance(f, ast.FunctionDef)}
        for n in tree.body
        if hasattr(n, "bases")
    }
    for entry in _C._ops_table():
        name, flags = entry["name"], entry["flags"]
        assert not flags & make_stub.FN or name in functions
        assert not flags & make_stub.METHOD or name in classes["Tensor"]
        assert not flags & make_stub.NN or name in classes["_nn"]


def test_every_function_has_a_signature_and_a_text():
    for entry in _C._ops_table():
        if any(keyword.iskeyword(argument) for argument, *_ in make_stub.parse(entry)[1]):
            continue  # uniform_(from=0, ...): no signature that Python could read
        if entry["flags"] & make_stub.FN:
            function = getattr(_C, entry["name"])
            assert inspect.signature(function).parameters and function.__doc__
        if entry["flags"] & make_stub.METHOD:
            method = getattr(_C.Tensor, entry["name"])
            assert "self" in inspect.signature(method).parameters and method.__doc__


# ---- the sources ----
KERNEL = """
#include "kernel_abi/kernel.h"
RL_KERNEL(cuda_probe) { return k->stream ? RL_OK : RL_UNSUPPORTED; }
static rl_kernel_fn const probe = cuda_probe;
rl_kernel_fn probe_get(void) { return probe; }
"""


@pytest.mark.parametrize("compiler, language", [("cc", "c"), ("c++", "c++")])
def test_kernel_header_compiles_alone(compiler, language, tmp_path):
    """A kernel needs kernel_abi/kernel.h and nothing else, as C and as C++ (which nvcc reads)."""
    if not shutil.which(compiler):
        compiler = {"cc": "gcc", "c++": "g++"}[compiler]
    flags = ["-std=gnu11", "-Wmissing-prototypes"] if language == "c" else ["-std=c++17"]
    source = tmp_path / f"probe.{language}"
    source.write_text(
        KERNEL.replace("rl_kernel_fn probe_get", "rl_kernel_fn probe_get(void);\nrl_kernel_fn probe_get")
    )
    common = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", str(ROOT / "csrc")]
    done = run(compiler, *flags, *common, "-x", language, str(source))
    assert done.returncode == 0, done.stderr
    source.write_text(
        KERNEL.replace("RL_KERNEL(cuda_probe)", "int cuda_probe(double k_)").replace("k->stream", "k_ > 0")
    )
    assert run(compiler, *flags, *common, "-x", language, str(source)).returncode != 0


def test_cuda_extension_says_how_many_gpus():
    """Where nvcc was, the extension imports without a GPU; elsewhere nothing misses it."""
    from rushlight._device import cuda_driver

    if importlib.util.find_spec("rushlight._cuda") is None:
        assert cuda_driver() == 0
        pytest.skip("built without the CUDA extension")
    from rushlight import _cuda

    assert cuda_driver() == _cuda.device_count() >= 0
    assert "rushlight._cuda.driver" in repr(_cuda.driver)
    if _cuda.device_count() == 0:
        with pytest.raises(RuntimeError, match="CUDA error"):
            _cuda.synchronize()
        with pytest.raises(RuntimeError, match="CUDA error"):
            _cuda.stream_new(0)


def test_only_a_driver_can_be_registered():
    for other in (None, 3, object()):
        with pytest.raises(ValueError, match="invalid PyCapsule"):
            _C._register_device(other)


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_tensors_on_a_missing_gpu(device):
    from rushlight._device import cuda_driver

    if cuda_driver():
        pytest.skip("no GPU is missing")
    for make in (lambda: _C.zeros(2, device=device), lambda: _C.tensor([1.0], device=device)):
        with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
            make()


@pytest.mark.parametrize(
    "setting, text", [("RUSHLIGHT_BUILD=fast", "release"), ("RUSHLIGHT_CUDA=maybe", "auto")]
)
@pytest.mark.skipif(not importlib.util.find_spec("setuptools"), reason="no setuptools")
def test_build_settings_are_checked(setting, text):
    name, value = setting.split("=")
    done = run(sys.executable, "setup.py", "--version", cwd=ROOT, env={**os.environ, name: value})
    assert done.returncode != 0 and setting in done.stderr and text in done.stderr


# ---- what a build compiles ----
PROJECT = {
    "pyproject.toml": '[project]\nname = "rushlight"\nversion = "0"\n[tool.setuptools]\npackages = []\n',
    "csrc/components.toml": "[core]\npython = false\n[object]\npython = true\n",
    "csrc/init.c": '#include <Python.h>\n#include "object/tensor.h"\n',
    "csrc/core/the core.h": "int rl_core(void);\n",
    "csrc/core/dtype.c": "int rl_dtype(void) { return 1; }\n",
    "csrc/core/view.c": '#include "core/the core.h"\nint rl_core(void) { return 1; }\n',
    "csrc/ops/help.h": "typedef int rl_help;\nenum { RL_OP_COUNT = 1 };\n",
    "csrc/ops/declarations/all.def": "",
    "csrc/object/tensor.c": '#include <Python.h>\n#include "tensor.h"\n',
    "csrc/object/tensor.h": '#include "core/the core.h"\n',
}
COMPILED = {"init.c", "dtype.c", "view.c", "tensor.c", "operator_help.c"}
COMPILER = """#!/bin/sh
echo "$@" >> {log}
exec {compiler} "$@"
"""


class Project:
    """A small one with rushlight's setup.py, and a compiler that keeps a log."""

    def __init__(self, folder):
        pytest.importorskip("setuptools")
        self.folder, self.log = folder, folder / "log"
        for name, text in PROJECT.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        shutil.copy(ROOT / "setup.py", folder)
        shutil.copytree(ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        compiler = folder / "compiler"
        compiler.write_text(COMPILER.format(log=self.log, compiler=shutil.which("gcc") or shutil.which("cc")))
        compiler.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "LANG")}
        self.env = {**kept, "CC": str(compiler), "RUSHLIGHT_CUDA": "0"}

    def build(self, **env):
        """The names of the sources that were compiled, and "linked" where it linked."""
        self.log.write_text("")
        setup = (sys.executable, "setup.py", "-q", "build_ext")
        done = run(*setup, cwd=self.folder, env={**self.env, **env})
        assert done.returncode == 0, done.stderr
        commands = [line.split() for line in self.log.read_text().splitlines() if "--version" not in line]
        linked = {"linked" for words in commands if "-shared" in words}
        self.compiled = {words[words.index("-c") + 1]: words for words in commands if "-c" in words}
        assert len(self.compiled) + len(linked) == len(commands)
        return {pathlib.Path(source).name for source in self.compiled} | linked

    def touch(self, name):
        os.utime(self.folder / name)


@pytest.fixture(autouse=True)
def path_stays(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # setuptools adds to it


def test_a_build_compiles_what_changed(tmp_path):
    project = Project(tmp_path)
    assert project.build() == COMPILED | {"linked"}
    assert project.build() == set()
    project.touch("csrc/core/view.c")
    assert project.build() == {"view.c", "linked"}
    project.touch("csrc/core/the core.h")  # which init.c and tensor.c read through tensor.h
    assert project.build() == {"view.c", "init.c", "tensor.c", "linked"}
    project.touch("csrc/object/tensor.h")
    assert project.build() == {"init.c", "tensor.c", "linked"}
    project.touch("setup.py")
    assert project.build() == set()


def test_a_build_with_other_flags_compiles_anew(tmp_path):
    project = Project(tmp_path)
    assert project.build(RUSHLIGHT_WERROR="1") == COMPILED | {"linked"}
    assert project.build() == {"linked"}  # what has no warnings serves where they are allowed
    project.touch("csrc/core/view.c")
    assert project.build() == {"view.c", "linked"}
    assert project.build(RUSHLIGHT_WERROR="1") == {"view.c", "linked"}  # not the other way round
    assert project.build(CFLAGS="-DX") == COMPILED | {"linked"}
    assert project.build(RUSHLIGHT_BUILD="debug") == COMPILED | {"linked"}
    assert project.build() == set()


def test_components_below_python_are_compiled_without_its_headers(tmp_path):
    project = Project(tmp_path)
    project.build()
    for source, words in project.compiled.items():
        assert source.startswith(("csrc/core/", "build/")) != (
            f"-I{sysconfig.get_paths()['include']}" in words
        )
    (tmp_path / "csrc/core/view.c").write_text("#include <Python.h>\n")
    with pytest.raises(AssertionError, match="view.c.*Python.h"):
        project.build()


# ---- the package ----
def is_of_wheel(path):
    own = "__pycache__" not in path.parts and not path.name.startswith("_cuda")
    return own and path.is_file()


def test_package_is_small():
    """Under 10 MB unpacked; a build for debugging or counting is larger."""
    size = sum(p.stat().st_size for p in PACKAGE.rglob("*") if is_of_wheel(p))
    marks = [b"__asan_init", b"__ubsan", b"__gcov", b".debug_info"]
    built = pathlib.Path(_C.__file__).read_bytes()
    assert size < 11_000_000 or any(m in built for m in marks), size


def test_package_has_what_type_checkers_need():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_C.pyi").exists()


def test_import_stays_light():
    """No NumPy, no oneDNN, no thread pool, until something needs them."""
    code = (
        "import sys, rushlight, rushlight.nn, rushlight.optim; maps = open('/proc/self/maps').read();"
        "assert 'numpy' not in sys.modules; assert 'dnnl' not in maps and 'libgomp' not in maps;"
        "assert not {'importlib.metadata', 'zipfile', 'inspect', 'typing_extensions'} & set(sys.modules)"
    )
    done = run(sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {[str(PACKAGE.parent)]}; {code}")
    assert done.returncode == 0, done.stderr


def test_version_is_that_of_the_distribution():
    """The build reads it from the text of the module that pyproject.toml names, and imports nothing."""
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in settings["project"]["dynamic"] and "version" not in settings["project"]
    module, name = settings["tool"]["setuptools"]["dynamic"]["version"]["attr"].rsplit(".", 1)
    tree = ast.parse((ROOT / "pysrc" / module.replace(".", "/")).with_suffix(".py").read_text())
    literals = {n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign)}
    assert ast.literal_eval(literals[name]) == rushlight.__version__
    assert not [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]


def test_own_helpers_have_signatures_too():
    """Without one the stub would say less, and each version of Python something else."""
    for name, member in vars(_C).items():
        if inspect.isbuiltin(member):
            assert (member.__text_signature__ or "").replace("$module, ", "") != "(object, /)", name
