"""Tries what tools/make_packages.py left in dist/: python tools/try_packages.py sdist, or wheels.

sdist: unpacked into an empty folder, `make test` there, over SAMPLE; then an editable install, which must see
what is written into its sources. wheels: each in an environment of its own with all that it asks for; one
alone, and beside the oldest NumPy that pyproject.toml allows.
"""

import argparse
import contextlib
import os
import re
import sys
import tempfile
import tomllib
from pathlib import Path

import interpreters
from make_packages import DIST, ROOT, run, unpack

SAMPLE = "tests/package tests/architecture tests/files tests/helpers"
ON_WHEELS = ["tests/package", "tests/module"]
ON_OLD_NUMPY = ["tests/tensor", "tests/python/test_data.py", "tests/ops/test_ops.py"]
OWN = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))}
WHERE = (
    "import rushlight as r; print(r.__file__, r._C.__file__, getattr(r.version, 'written', None), sep='\\n')"
)


@contextlib.contextmanager
def fresh(python):
    """An empty environment: its Python."""
    with tempfile.TemporaryDirectory(prefix="rushlight-") as folder:
        run(python, "-m", "venv", folder)
        yield Path(folder, "bin", "python")


def install(python, *words):
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words, env=OWN)


def installed(python, *there):
    print(run(python, "-I", ROOT / "tests" / "package" / "installed.py", *there, env=OWN, cwd=DIST), end="")


def tests(python, *paths):
    install(python, "pytest", "pytest-xdist")
    options = ["-n", "2", "-p", "no:cacheprovider", *paths]
    said = run(python, "-m", "pytest", *options, cwd=ROOT, env={**OWN, "RUSHLIGHT_SAMPLE": "8"})
    print(said.splitlines()[-1], flush=True)


# ---- the sdist ----
def try_sdist():
    (made,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="rushlight-") as folder:
        tree = unpack(made, Path(folder, "sdist"))
        print(run("make", "test", f"TESTS={SAMPLE}", cwd=tree, env=OWN).splitlines()[-1], flush=True)
        try_editable(tree)


def try_editable(tree):
    python, package = tree / ".venv" / "bin" / "python", tree / "pysrc" / "rushlight"
    install(python, "--no-build-isolation", "--no-deps", "-e", tree)
    for expected in ("None", "yes"):
        module, extension, written = run(python, "-c", WHERE, cwd=DIST, env=OWN).splitlines()
        if (Path(module).parent, Path(extension).parent, written) != (package, package, expected):
            sys.exit(f"an editable install is not that of {tree}: {module}, {extension}, {written}")
        with open(package / "version.py", "a") as file:
            file.write("written = 'yes'\n")
    print("an editable install follows its sources")


# ---- wheels ----
def try_wheels():
    wheels = sorted(DIST.glob("rushlight-*.whl"))
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    for wheel in wheels:
        with fresh(python_of(wheel)) as python:
            install(python, wheel)
            run(python, "-m", "pip", "check", env=OWN)
            installed(python, "numpy", "onednn")
            try_alias(python)
            tests(python, *ON_WHEELS)
    if f"-cp{oldest_python()}-" not in wheels[0].name:
        return
    with fresh(python_of(wheels[0])) as python:  # for the oldest Python, as the oldest NumPy is
        install(python, "--no-deps", wheels[0])
        installed(python)
        install(python, oldest_numpy())
        installed(python, "numpy")
        tests(python, *ON_OLD_NUMPY)


def try_alias(python):
    """The wheel torch, as in a Dockerfile, and what `rushlight alias` makes; nothing is downloaded."""
    here = ("--no-index", "--find-links", DIST)
    command = python.with_name("rushlight")
    for put, take in (
        (
            (python, "-m", "pip", "install", "-q", *here, "torch"),
            (python, "-m", "pip", "uninstall", "-qy", "torch"),
        ),
        ((command, "alias", "install"), (command, "alias", "remove")),
    ):
        run(*put, env=OWN)
        run(python, "-m", "pip", "check", env=OWN)
        run(python, "-m", "pip", "install", "--no-index", "torch>=2", env=OWN)
        run(command, "alias", "status", env=OWN)
        run(python, "-I", "-c", "import torch.nn, rushlight; assert torch is rushlight", env=OWN)
        run(*take, env=OWN)
    print("the alias comes and goes", flush=True)


def python_of(wheel):
    major, minor = re.search(r"-cp(\d)(\d+)-", wheel.name).groups()
    return interpreters.find(f"{major}.{minor}")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def oldest_python():
    """ ">=3.11" to "311"."""
    return project()["requires-python"].removeprefix(">=").replace(".", "")


def oldest_numpy():
    """ "numpy>=1.25" to "numpy==1.25.*"."""
    wanted = project()["dependencies"]
    (lowest,) = [re.fullmatch(r"numpy>=([\d.]+)", line)[1] for line in wanted if line.startswith("numpy")]
    return f"numpy=={lowest}.*"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("sdist", "wheels"))
    try_sdist() if parser.parse_args().what == "sdist" else try_wheels()


if __name__ == "__main__":
    main()
