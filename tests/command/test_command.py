"""The command `rushlight`: its help, exit statuses, and how it ends when something goes wrong."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import _command, _escape
from rushlight._command import main
from rushlight._command._guard import Failure, guarded
from rushlight.version import __version__

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "tests" / "data" / "civilnet_digits.pth"


def start(*arguments, cwd, program=("-m", "rushlight"), **options):
    env = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *map(str, program), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_help_of_all(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: rushlight COMMAND")
    for name in _command.COMMANDS:
        assert f"\n  {name} " in text
        assert main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"usage: rushlight {name}"), name
        assert max(map(len, (text + shown).splitlines())) <= 81
        assert "examples:\n" in shown and "{program}" not in shown
    assert main(["-V"]) == 0
    assert capsys.readouterr().out == f"rushlight {__version__}\n"
    assert main([]) == 2
    assert "usage: rushlight COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["inspect"],
            "rushlight inspect: the following arguments are required: FILE; try `rushlight inspect",
        ),
        (["inspect", "--jsn", "x"], "rushlight inspect: unrecognized arguments: --jsn"),
        (["convert", "x"], "required: OUT"),
        (["convert", "x.pth", "y.txt"], "the suffix of y.txt says no format"),
        (["info", "more"], "unrecognized arguments: more"),
        (["summary"], "required: MODEL"),
        (["summary", "m:N", "--input-size", "1,a"], "--input-size 1,a: expected whole numbers"),
        (["summary", "m:N", "--dtype", "Tensor"], "--dtype Tensor: expected a dtype"),
        (["summary", "m:N", "--dtype", "int8", "--dtype", "int8"], "give --dtype once"),
        (["summary", "m:N(x)"], "N(x) is no call with plain arguments"),
        (["run"], "rushlight run: a script is missing; try `rushlight run --help`"),
        (["inspekt"], "No such file or directory; did you mean the command 'inspect'?"),
        (["nothing/inspect"], "No such file or directory\n"),
    ],
)
def test_wrong_command_lines(arguments, text, capsys, monkeypatch):
    monkeypatch.setattr("rushlight._alias.install_as_torch", lambda: None)
    monkeypatch.setattr(sys, "argv", sys.argv)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and text in err and err.count("\n") == 1


def test_a_command_wins_over_a_file_of_its_name(tmp_path):
    (tmp_path / "info").write_text("print('the file')")
    process = start("info", "--json", cwd=tmp_path)
    assert json.loads(process.communicate()[0])["rushlight"]["version"] == __version__
    process = start("./info", "--json", cwd=tmp_path)
    assert process.communicate() == ("the file\n", "")


def test_the_console_script_runs_programs_as_python_does(tmp_path):
    """What pip writes for [project.scripts], in a folder of its own."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["rushlight"].partition(":")
    assert callable(getattr(import_module(module), function))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "rushlight"
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    (tmp_path / "helper.py").write_text("import torch, sys\nprint(torch.__name__, __name__, sys.argv[1:])\n")
    for arguments in (["run", "-m", "helper", "a"], ["-m", "helper", "a"], ["helper.py", "a"]):
        out, err = start(*arguments, cwd=tmp_path, program=[script]).communicate()
        assert (out, err) == ("rushlight __main__ ['a']\n", "")
    out, err = start("run", "nix", cwd=tmp_path, program=[script]).communicate()
    assert (
        err == f"rushlight run: can't open file '{tmp_path / 'nix'}': [Errno 2] No such file or directory\n"
    )


def test_what_is_not_needed_is_not_imported(tmp_path):
    ask = "import sys; print([m for m in ('argparse', 'json', 'numpy') if m in sys.modules])"
    assert start("-c", ask, cwd=tmp_path).communicate() == ("[]\n", "")
    ask = f"from rushlight._command import main; main(['inspect', {str(DIGITS)!r}]); {ask}"
    out, err = start("-c", ask, cwd=tmp_path, program=()).communicate()
    assert out.endswith("\n['argparse', 'json']\n") and err == ""


def test_ctrl_c_ends_without_a_traceback(tmp_path):
    code = "import time\nprint('here', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "slow.py").write_text(code)

    def heard():  # jobs of a shell's background ignore it
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = start("summary", "slow.py:Net", cwd=tmp_path, preexec_fn=heard)
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "") and process.returncode == -signal.SIGINT


def test_a_pipe_that_closes_ends_without_a_traceback(tmp_path):
    torch.save({f"a long name of a tensor {i}": torch.zeros(()) for i in range(2000)}, tmp_path / "x.pth")
    process = start("inspect", "x.pth", cwd=tmp_path)
    assert process.stdout.readline().startswith("x.pth: zip")
    process.stdout.close()
    process.wait()
    assert process.stderr.read() == "" and process.returncode == -signal.SIGPIPE
    process.stderr.close()


def test_output_that_cannot_be_written(tmp_path):
    with open("/dev/full", "w") as full:
        for arguments in (["--version"], ["inspect", DIGITS]):
            process = subprocess.run(
                [sys.executable, "-m", "rushlight", *arguments],
                env={**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1])},
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.returncode == 1 and process.stderr.count("\n") == 1
            assert process.stderr.endswith(": No space left on device\n")


def test_failures_are_one_line_that_no_terminal_obeys(capsys):
    def failing(arguments, program):
        raise Failure("a\x1b[31m\n  b\u202e", 7)

    assert guarded(failing, [], "rushlight x") == 7
    assert capsys.readouterr().err == "rushlight x: a\\x1b[31m b\\u202e\n"

    def full(arguments, program):
        raise MemoryError

    assert guarded(full, [], "rushlight x") == 1
    assert capsys.readouterr().err == "rushlight x: there is not enough memory\n"


def test_plain_texts():
    assert _escape.plain("größe 重み a.b") == "größe 重み a.b"
    assert (
        _escape.plain("a\\x1b") == "a\\\\x1b"
        and _escape.plain("\x1b]0;x\x07\n\x9b") == "\\x1b]0;x\\x07\\n\\x9b"
    )
    assert _escape.plain("\u202e\ud800\u200b\x7f") == "\\u202e\\ud800\\u200b\\x7f"
    assert _escape.plain("abcdef", 3) == "abc..."
    for n, text in (
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (10**13, "10.0 TB"),
    ):
        assert _escape.size(n) == text
