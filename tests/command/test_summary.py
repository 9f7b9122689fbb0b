"""rushlight summary, and the texts of Summary for people and notebooks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from helpers.process import SOURCE
from rushlight import nn
from rushlight._command import main

MODEL = """
import rushlight as torch
from rushlight import nn

class Net(nn.Module):
    def __init__(self, n=10, *, names=()):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(4, n)
    def forward(self, x, y=None):
        x = self.fc(self.conv(x).mean((2, 3)))
        return x if y is None else x + y

class Needs(nn.Module):
    def __init__(self, n):
        super().__init__()

class Inner:
    Net = Net

def words():
    return nn.Sequential(nn.Embedding(5, 2), nn.Linear(2, 3))

def broken():
    raise RuntimeError("one\\x1b[31m\\ntwo")

net, number = Net(3), 5
"""
FAILING = "import rushlight\n\n\ndef deep():\n    import not_there_at_all\n\n\ndeep()\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model; what a command does to this process is undone."""
    (tmp_path / "own_model.py").write_text(MODEL)
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rushlight._alias.install_as_torch", lambda: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("own_model", "failing"):
        sys.modules.pop(name, None)


def run(capsys, *arguments, status=0):
    assert main(["summary", *map(str, arguments)]) == status
    out, err = capsys.readouterr()
    assert (err if status == 0 else out) == "" and (status == 0 or err.count("\n") == 1)
    return out if status == 0 else err


def test_models_by_name(folder, capsys):
    out = run(capsys, "own_model.py:Net", "--input-size", "2,3,8,8")
    assert "\n  conv  Conv2d  [2, 4, 6, 6]     112      7,776\n" in out and "Params: 162 (" in out
    assert run(capsys, "own_model:Inner.Net", "--input-size", "2x3x8x8") == out
    assert "Params: 127 (" in run(capsys, "own_model:net") and "Mult-adds" not in run(capsys, "own_model:net")
    assert "Params: 147 (" in run(capsys, "own_model:Net(7, names=['a', (1, -2.5), None])")
    out = run(capsys, "own_model:Net", "--input-size", "1,3,8,8", "--input-size", "1,10", "--depth", "0")
    assert out.splitlines()[2] == "Net          [1, 10]          162      3,928" and "conv" not in out
    assert "[4, 6, 3]" in run(capsys, "own_model:words", "--input-size", "4,6", "--dtype", "int64")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["own_model:Needs"], "cannot make Needs: TypeError: Needs.__init__() missing 1 required positional"),
        (["own_model:nothing"], "own_model has no nothing"),
        (["own_model:number"], "own_model:number is int, not a class or function that makes a model"),
        (["own_model:Inner"], "own_model:Inner gives Inner, not an nn.Module"),
        (["own_model:broken"], "cannot make broken: RuntimeError: one\\x1b[31m two (own_model.py:"),
        (["failing.py:Net"], "No module named 'not_there_at_all' (failing.py:5 in deep)"),
        (["nowhere:Net"], "cannot import nowhere: ModuleNotFoundError: No module named 'nowhere'\n"),
        (["nowhere.py:Net"], "there is no file nowhere.py"),
        (["nowhere.pth"], "nowhere.pth is neither a file nor package.module:Name"),
        (
            ["own_model:Net", "--input-size", "1,2,8,8"],
            "the model does not run: RuntimeError: Given groups=1, weight of size [4, 3, 3, 3], expected "
            "input[1, 2, 8, 8] to have 3 channels, but got 2 channels instead (own_model.py:10 in forward); ",
        ),
    ],
)
def test_what_goes_wrong_is_one_line(arguments, text, folder, capsys):
    assert text in run(capsys, *arguments, status=1)


def test_a_file_of_python_without_a_class(folder, capsys):
    assert "say which class: own_model.py:Name" in run(capsys, "own_model.py", status=2)


def test_files(folder, capsys):
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    torch.save(model, "whole.pth")
    torch.save(model.state_dict(), "state.pth")
    torch.save({"epoch": 3, "model": model}, "both.pth")
    torch.save([model, model], "list.pth")
    err = run(capsys, "whole.pth", status=1)
    assert "(torch.nn.modules.container.Sequential, torch.nn.modules.linear.Linear, torch.nn.modules" in err
    assert "opening it runs code that it names: --trust does so" in err
    out = run(capsys, "whole.pth", "--trust", "--input-size", "1,2")
    assert out == str(torch.summary(model, (1, 2), verbose=False)) + "\n"
    assert "Params: 9 (" in run(capsys, "both.pth", "--trust")
    assert "list.pth gives list, not an nn.Module" in run(capsys, "list.pth", "--trust", status=1)
    assert "state.pth holds tensors, not a module: name the class" in run(capsys, "state.pth", status=1)
    assert "state.pth holds tensors" in run(capsys, "state.pth", "--trust", status=1)
    Path("text.pth").write_text("text")
    assert "cannot read text.pth: it is neither a zip archive" in run(capsys, "text.pth", status=1)


def test_torch_means_rushlight_in_the_models_code(tmp_path):
    (tmp_path / "net.py").write_text("import torch\n\ndef make():\n    return torch.nn.Linear(2, 3)\n")
    script = f"import sys; sys.path.insert(0, {str(Path(torch.__file__).parents[1])!r}); "
    script += "from rushlight._command import main; sys.exit(main(['summary', 'net:make']))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("Layer   Type  Params\n") and done.stderr == "" and done.returncode == 0


# ---- what summary() returns ----
def test_the_result_shows_itself_once(capsys, monkeypatch):
    model = nn.Linear(2, 3)
    result = torch.summary(model)
    assert capsys.readouterr().out == str(result) + "\n" == repr(result) + "\n"
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # an interactive session shows what comes back
    torch.summary(model)
    assert capsys.readouterr().out == ""
    torch.summary(model, verbose=True)
    assert capsys.readouterr().out == str(result) + "\n"


def test_html_is_escaped():
    model = nn.Sequential()
    model.add_module("<script>alert(1)</script>", nn.Linear(2, 3))
    model.add_module("a\x1b[31m\nb", nn.ReLU())
    result = torch.summary(model, (1, 2), verbose=False)
    html = result._repr_html_()
    assert "<script" not in html and "&lt;script&gt;alert(1)&lt;/script&gt;</td>" in html
    assert "a\\x1b[31m\\nb" in html and "a\\x1b[31m\\nb" in str(result) and "\x1b" not in html + str(result)
    assert html.count("<tr>") == html.count("</tr>") == 4 and "Params: 9 (9 trainable, 0 fixed)</div>" in html
    assert html.count("text-align: right") == 8 and "Mult-adds</th>" in html
    assert "Mult-adds</th>" not in torch.summary(model, verbose=False)._repr_html_()


def test_code_that_calls_exit_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    Path("late.py").write_text("import sys\ndef Net():\n    sys.exit('no')\n")
    told = {
        "leaves.py": "cannot import leaves.py: it called sys.exit(0) (leaves.py:2",
        "late.py": "cannot make Net: it called sys.exit('no') (late.py:3",
    }
    for file, text in told.items():
        code = f"from rushlight._command import main; exit(main(['summary', '{file}:Net']))"
        env = {**os.environ, "PYTHONPATH": str(SOURCE)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
        assert done.returncode == 1 and text in done.stderr and done.stdout == ""


def test_summary_as_json(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    command = ["-c", "from rushlight._command import main; main()", "summary"]
    command += [f"{tmp_path}/model.py:Net", "--input-size", "1,3,8,8", "--json"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["total_params"] == told["trainable_params"] == 162 and told["ran"]
    conv = told["layers"][1]
    assert conv == {
        "name": "conv", "depth": 1, "type": "Conv2d", "output_shape": "[1, 4, 6, 6]", "parameters": 112,
        "mult_adds": 3888,
    }  # fmt: skip
