"""Published packages over rushlight and over PyTorch: `make clients`; python tools/clients.py [PACKAGE ...].

Each package of tests/clients/versions.txt gets an environment of its own in build/clients, with rushlight,
the alias and what it depends on (in the versions of constraints.txt), but no torch. Its script,
tests/clients/<package>_.py, runs there and, over the same files, under the PyTorch of --pytorch; both must
print the same. docs/ecosystem.md tells the result, for all packages, when none is named.
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "tests" / "clients"
WORK = ROOT / "build" / "clients"
PAGE = ROOT / "docs" / "ecosystem.md"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")
FOREIGN = re.compile(r"^(nvidia|cuda|triton)", re.I)
FETCHED = re.compile(r"\s*(Collecting|Downloading) (torch(?=[\s=<>~!(]|-\d|$)|nvidia)")
OWN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
BROUGHT = ("numpy", "typing_extensions")  # PyTorch brings them, so that packages do not name them
LIMIT = 600  # seconds of a script
HEAD = """\
# Packages

What `make clients` saw: published packages in environments with [the alias](alias.md) and no PyTorch, but
with NumPy and typing_extensions, which PyTorch brings, so that packages use them without naming them. Each
is tried by a script of `tests/clients`, which runs unmodified under PyTorch {pytorch}, too; a check counts
where both print the same.

"""


def versions():
    """{package: its locked version}, in the order of the file."""
    lines = (SCRIPTS / "versions.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and line[0] != "#")


def script_of(package):
    return SCRIPTS / f"{package.replace('-', '_')}_.py"


def run(*command, **options):
    """What a command prints; shown only when it fails, which ends all."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=OWN, **options
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


# ---- environments ----
def packages_of(python):
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())


def environment(package, version):
    """A fresh environment with rushlight of this interpreter, the alias and the package: its Python."""
    folder = WORK / package
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    here, there = packages_of(sys.executable), packages_of(python)
    for path in (here / "rushlight", *here.glob("rushlight-*.dist-info")):
        shutil.copytree(path, there / path.name)
    run(python, "-m", "rushlight", "alias", "install")
    install = (
        python,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "-c",
        constraints(python, folder),
    )
    said = run(*install, *BROUGHT, f"{package}=={version}")
    run(python, "-m", "rushlight", "alias", "status")
    check_downloads(package, said, there)
    return python


def constraints(python, folder):
    """The locked versions, and the alias's torch: a torchvision that wants another one would replace it."""
    alias = run(python, "-c", "import importlib.metadata as m; print(m.version('torch'))").strip()
    path = folder / "constraints.txt"
    path.write_text((SCRIPTS / "constraints.txt").read_text() + f"torch=={alias}\n")
    return path


def check_downloads(package, said, there):
    """No torch, and nothing that only PyTorch needs."""
    fetched = [line for line in said.splitlines() if FETCHED.match(line)]
    foreign = [path.name for path in there.iterdir() if FOREIGN.match(path.name)]
    if fetched or foreign:
        sys.exit(f"{package} brings what it was not to bring: {fetched + foreign}")


def beside_pytorch(there, folder):
    """The packages of an environment without the alias and rushlight, for another interpreter."""
    for path in there.iterdir():
        if not re.match(r"(torch|rushlight|pip|setuptools|numpy)([-.].*)?$|_?distutils", path.name):
            (folder / path.name).symlink_to(path)
    return folder


# ---- a script under both ----
def printed(python, script, path=""):
    """(lines, the last line of stderr if it failed)."""
    done = subprocess.run(
        [str(python), "-W", "ignore", script.name],
        cwd=SCRIPTS,
        env={**OWN, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    failed = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return done.stdout, "".join(failed)


def is_same(ours, theirs):
    """Texts that differ in the last digits of numbers at most."""
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs))
    return all(abs(float(a) - float(b)) <= 1e-4 * max(abs(float(a)), abs(float(b))) + 1e-6 for a, b in pairs)


def checks(text):
    """{name of a check: what it printed}."""
    found = {}
    for line in text.splitlines():
        name = re.match(r"(\w+): ", line)
        if name:
            found[name[1]] = line
        elif found:
            found[next(reversed(found))] += f"\n{line}"
    return found


@dataclass
class Result:
    package: str
    version: str
    tried: int
    same: int
    reasons: list[str]

    def row(self):
        why = "; ".join(self.reasons) or "-"
        return f"| {self.package} | {self.version} | {self.same} of {self.tried} | {why} |"


def reason(name, ours):
    """Why a check differs: an error that it ended with, else its name alone."""
    error = re.match(r"\w+: (\w*Error: .*)", ours)
    return f"`{error[1][:160]}`" if error else f"{name} prints something else"


def try_package(package, version, pytorch):
    python, script = environment(package, version), script_of(package)
    with tempfile.TemporaryDirectory() as folder:
        theirs, failed = printed(pytorch, script, beside_pytorch(packages_of(python), Path(folder)))
    if failed:
        sys.exit(f"{script.name} fails under PyTorch: {failed}")
    ours, failed = printed(python, script)
    expected, got = checks(theirs), checks(ours)
    different = {
        name: got.get(name, "") for name, line in expected.items() if not is_same(got.get(name, ""), line)
    }
    for name, line in different.items():
        print(f"  PyTorch    {expected[name]}\n  rushlight  {line}")
    reasons = [f"`{failed}`"] if failed else [reason(*each) for each in different.items()]
    same = len(expected) - len(different)
    return Result(package, version, len(expected), same, list(dict.fromkeys(reasons)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument(
        "--pytorch", default=ROOT / ".venv-parity" / "bin" / "python", help="a Python with PyTorch"
    )
    given = parser.parse_args()
    locked, results = versions(), []
    for package in given.packages or locked:
        if package not in locked:
            parser.error(f"{package} is not in tests/clients/versions.txt")
        result = try_package(package, locked[package], given.pytorch)
        results.append(result)
        print(
            f"{package} {result.version}: {result.same} of {result.tried} checks print the same", flush=True
        )
        for why in result.reasons:
            print(f"  {why}", flush=True)
    if not given.packages:
        pytorch = run(given.pytorch, "-c", "import torch; print(torch.__version__)").strip()
        rows = [
            f"| package | version | the same | what is not, {datetime.date.today()} |",
            "|---|---|--:|---|",
        ]
        PAGE.write_text(
            HEAD.format(pytorch=pytorch) + "\n".join([*rows, *(each.row() for each in results), ""])
        )


if __name__ == "__main__":
    main()
