"""rushlight completion: scripts that name every command and option."""

import shutil
import subprocess

import pytest

from rushlight._command import COMMANDS, completion, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_all_commands(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS) and completion.OPTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run"])
def test_options_are_those_of_the_commands(name, capsys):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    for word in completion.OPTIONS[name].split():
        assert word.rstrip("=") in shown


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes():
    ask = 'COMP_WORDS=(rushlight {}); COMP_CWORD={}; _rushlight; echo "${{COMPREPLY[*]}}"'
    for words, at, expected in (("ins", 1, "inspect"), ("summary --inp", 2, "--input-size")):
        code = completion.script("bash") + ask.format(words, at)
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [expected]


def test_an_unknown_shell(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice" in capsys.readouterr().err
