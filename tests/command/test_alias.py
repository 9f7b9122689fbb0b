"""`rushlight alias`: a distribution torch that is rushlight comes and goes, and what is of others stays."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cuda_wheel
import make_packages
import rushlight
from rushlight import _alias
from rushlight._alias import contents, environment
from rushlight._command import main

SOURCE = Path(rushlight.__file__).parents[1]
INFO = contents.info_of(_alias.VERSION)


def alias(action, folder, capsys):
    """(exit status, what is printed) of the command."""
    status = main(["alias", action, "--target", str(folder)])
    out, err = capsys.readouterr()
    return status, out + err


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def small():
    """A package whose alias has few files: making all of them takes longer than the rest of a test."""
    kept = contents._modules
    contents._modules = lambda package: {"torch/__init__.pyi": b"from rushlight import *\n"}.items()
    yield
    contents._modules = kept


def other_torch(folder, version="2.13.0", files=("torch/__init__.py",)):
    """What another installer puts there."""
    info = folder / f"torch-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{name},sha256=x,1\n" for name in files))
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("PYTORCH = 1\n")


# ---- what it holds ----
def test_it_is_of_this_version_and_shows_each_module():
    package = Path(rushlight.__file__).parent
    assert contents.version_in(package) == _alias.VERSION == f"2.13.0+rushlight{rushlight.__version__}"
    files = contents.files(package)
    stubs = {name for name in files if name.startswith("torch/")}
    assert {
        "torch/__init__.pyi",
        "torch/nn/functional/__init__.py",
        "torch/_C.py",
        "torch/optim/sgd.py",
    } <= stubs
    assert not [name for name in stubs if "_alias" in name or "_command" in name]
    assert files["torch/nn/init.py"].decode().splitlines()[1] == "from rushlight.nn.init import *"
    assert (
        b"from rushlight._utils import _rebuild_tensor_v2 as _rebuild_tensor_v2\n" in files["torch/_utils.py"]
    )
    assert files["torch/py.typed"] == b"" and b"\nRequires-Dist: rushlight\n" in files[f"{INFO}/METADATA"]


def test_the_wheel_holds_the_same(tmp_path, monkeypatch, small):
    monkeypatch.setattr(make_packages, "DIST", tmp_path)
    monkeypatch.setattr(cuda_wheel, "contents_of", lambda tree: vars(contents))
    tree = Path(__file__).resolve().parents[2]
    make_packages.alias(tree)
    (made,) = tmp_path.iterdir()
    assert made.name == f"torch-{_alias.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(made) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    files = contents.files(tree / "pysrc" / "rushlight")
    assert held == contents.recorded(files, INFO)
    lines = held[f"{INFO}/RECORD"].decode().splitlines()
    assert lines == [*(contents.record_line(*each) for each in files.items()), f"{INFO}/RECORD,,"]


# ---- it comes and goes ----
def test_install_status_remove(tmp_path, capsys, small):
    folder = tmp_path / "packages"
    assert alias("status", folder, capsys) == (1, f"no alias in {folder}\n")
    assert alias("remove", folder, capsys) == (0, f"no alias in {folder}\n")
    status, out = alias("install", folder, capsys)
    assert status == 0 and out.startswith(f"torch {_alias.VERSION}: 8 files in {folder}\n")
    assert out.endswith(f"\ntorch=={_alias.VERSION}\n")  # the line for a file of constraints
    assert everything(folder) == sorted(
        ["torch", *(f"torch/{name}" for name in ("__init__.py", "__init__.pyi", "py.typed")), INFO]
        + [f"{INFO}/{name}" for name in ("INSTALLER", "METADATA", "RECORD", "WHEEL", "top_level.txt")]
    )
    assert alias("status", folder, capsys) == (0, f"torch {_alias.VERSION} is rushlight, in {folder}\n")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert "is there already" in alias("install", folder, capsys)[1]
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    (folder / "torch" / "__pycache__").mkdir()
    (folder / "torch" / "__pycache__" / "__init__.cpython-399.pyc").touch()
    assert alias("remove", folder, capsys) == (0, f"torch {_alias.VERSION}: 9 files removed from {folder}\n")
    assert everything(folder) == []


def test_an_older_one_is_replaced(tmp_path, capsys, small):
    environment.install(tmp_path)
    old = tmp_path / "torch-2.13.0+rushlight0.0.9.dist-info"
    os.rename(tmp_path / INFO, old)
    text = (old / "METADATA").read_bytes().replace(_alias.VERSION.encode(), b"2.13.0+rushlight0.0.9")
    (old / "METADATA").write_bytes(text)
    (tmp_path / "torch" / "older.py").write_text("")
    lines = [contents.record_line(f"{old.name}/METADATA", text), contents.record_line("torch/older.py", b"")]
    lines += [
        contents.record_line(f"torch/{n}", (tmp_path / "torch" / n).read_bytes())
        for n in ("__init__.py", "py.typed", "__init__.pyi")
    ]
    lines += [f"{old.name}/{name},," for name in ("RECORD", "WHEEL", "top_level.txt", "INSTALLER")]
    (old / "RECORD").write_text("\n".join(lines) + "\n")
    status, out = alias("status", tmp_path, capsys)
    assert status == 0 and "rushlight0.0.9 is rushlight" in out and f"makes it {_alias.VERSION}" in out
    assert environment.install(tmp_path) == 8
    assert alias("status", tmp_path, capsys)[0] == 0 and not old.exists()
    assert not (tmp_path / "torch" / "older.py").exists()


@pytest.mark.parametrize("fails", ["write", "first move", "last move"])
@pytest.mark.parametrize("over", [False, True], ids=["anew", "over a damaged one"])
def test_a_failure_leaves_what_was_there(fails, over, tmp_path, capsys, monkeypatch, small):
    if over:
        environment.install(tmp_path)
        (tmp_path / "torch" / "py.typed").unlink()
    before, moves = everything(tmp_path), []

    def rename(source, target, usual=os.rename):
        moves.append(source)
        if len(moves) == {"first move": 1, "last move": 4 if over else 2}.get(fails):
            raise OSError(28, "No space left on device")
        usual(source, target)

    def write(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", rename)
    if fails == "write":
        monkeypatch.setattr(Path, "write_bytes", write)
    status, out = alias("install", tmp_path, capsys)
    assert (status, out) == (1, f"rushlight alias: {tmp_path} is as it was: No space left on device\n")
    assert everything(tmp_path) == before and bool(moves) == (fails != "write")


def test_what_a_killed_install_left_goes_with_the_next_one(tmp_path, small):
    (tmp_path / ".rushlight-alias-x" / "new").mkdir(parents=True)
    environment.install(tmp_path)
    assert [path.name for path in tmp_path.glob(".*")] == []


# ---- others ----
def test_it_refuses_beside_a_torch(tmp_path, capsys):
    other_torch(tmp_path / "a")
    (tmp_path / "b" / "torch").mkdir(parents=True)
    (tmp_path / "b" / "torch" / "__init__.py").write_text("")
    (tmp_path / "c" / "torch").mkdir(parents=True)
    for name, text in (
        ("a", "torch 2.13.0 is installed in"),
        ("b", "of unknown version"),
        ("c", "no distribution says"),
    ):
        before = everything(tmp_path)
        status, out = alias("install", tmp_path / name, capsys)
        assert status == 1 and text in out and out.count("\n") == 1 and everything(tmp_path) == before
        status, out = alias("status", tmp_path / name, capsys)
        assert status == 1 and out.startswith("no alias in")
    with pytest.raises(environment.Refused, match="torch 2.13.0 is installed in .*a, and stays"):
        environment.install(tmp_path / "d", [str(tmp_path / "a")])
    assert not (tmp_path / "d").exists()


def test_files_that_others_wrote_stay(tmp_path, capsys, small):
    """Another installer that knows nothing of the alias has put PyTorch over it."""
    environment.install(tmp_path)
    (tmp_path / "torch" / "__init__.pyi").write_text("x: int\n")
    theirs = ("torch/__init__.py", "torch/_C.so", "torch/py.typed")
    other_torch(tmp_path, "2.99", theirs)
    (tmp_path / "torch" / "py.typed").write_bytes(b"")  # the same bytes, and theirs all the same
    status, out = alias("status", tmp_path, capsys)
    assert status == 1 and "is no more what was installed" in out
    assert f"torch 2.99, which is not rushlight, is in {tmp_path}\n" in out
    assert f"changed since: 3 files (torch/__init__.py ...) in {tmp_path}\n" in out
    assert f"not of the alias: 1 file (torch/_C.so) in {tmp_path}\n" in out
    assert alias("install", tmp_path, capsys)[0] == 1
    status, out = alias("remove", tmp_path, capsys)
    assert status == 0 and "5 files removed" in out and "changed since, left there: 3 files" in out
    assert {*theirs, "torch/__init__.pyi"} <= {*everything(tmp_path)}
    assert not (tmp_path / INFO).exists() and (tmp_path / "torch-2.99.dist-info" / "RECORD").exists()


# ---- what Python and pip see ----
SEEN = """
import importlib.metadata as metadata, importlib.util, json, pickle, sys
seen = {"version": metadata.version("torch"), "found": importlib.util.find_spec("torch").origin}
import torch.nn.functional as F
from torch.utils.data import DataLoader
import rushlight, torch, torch.optim.lr_scheduler
seen["same"] = torch is rushlight and F is rushlight.nn.functional and torch.__version__ == seen["version"]
aliases = {n: m for n, m in sys.modules.items() if n[:6] == "torch."}
seen["twice"] = [n for n, m in aliases.items() if sys.modules.get("rushlight" + n[5:]) is not m]
seen["distributions"] = metadata.packages_distributions()["torch"]
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LSTM(2, 2))
step = torch.optim.lr_scheduler.StepLR(torch.optim.Adam(model.parameters()), 2)
rest = [torch.einsum, torch.ones(2, 2).max(0), torch.float32, torch.Size([1]), torch.distributions.Normal]
data = pickle.dumps([model, step, *rest])
seen["pickled"] = b"ctorch.nn.modules.linear" in pickle.dumps(model, 0) and b"rushlight" not in data
seen["read"] = type(pickle.loads(data)[0]) is torch.nn.Sequential and pickle.loads(data)[2] is torch.einsum
seen["printed"] = f"{torch.nn.Linear} {torch.Tensor} {torch.relu.__module__}"
print(json.dumps(seen))
"""


def run(*command, path=(), **options):
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [*path, SOURCE])),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=env, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_what_python_sees(tmp_path, small):
    environment.install(tmp_path)
    assert json.loads(run("-c", SEEN, path=[tmp_path])) == {
        "version": _alias.VERSION,
        "found": str(tmp_path / "torch" / "__init__.py"),
        "same": True,
        "twice": [],
        "distributions": ["torch"],
        "pickled": True,
        "read": True,
        "printed": "<class 'torch.nn.modules.linear.Linear'> <class 'torch.Tensor'> torch",
    }


def test_pip_takes_it_for_torch(tmp_path, small):
    environment.install(tmp_path)
    (tmp_path / "keep").write_text(f"torch=={_alias.VERSION}\n")
    pip = ("-m", "pip", "--disable-pip-version-check")
    out = run(
        *pip, "install", "--no-index", "--no-deps", "-U", "-c", tmp_path / "keep", "torch>=2", path=[tmp_path]
    )
    assert f"Requirement already satisfied: torch>=2 in {tmp_path} ({_alias.VERSION})" in out
