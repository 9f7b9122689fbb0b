"""The command `rushlight`: run, inspect, convert, summary, alias, completion, info.

Each command is a module with ``main(arguments, program)``, imported when it is wanted. It returns the exit
status: 0, 1 for a file or model that failed, 2 for a wrong command line.
"""

import importlib
import os
import sys

from ..version import __version__

COMMANDS = {
    "run": "run a program that says `import torch` with rushlight instead",
    "inspect": "show what a checkpoint holds, without running anything of it",
    "convert": "write a checkpoint in another format: .pth, .safetensors",
    "summary": "show the layers of a model, their shapes, parameters, multiply-adds",
    "alias": "put a distribution torch that is rushlight beside it; take it away",
    "completion": "print a script for completion in bash, zsh or fish",
    "info": "show versions, processor, libraries, switches, for a bug report",
}

_HELP = """usage: {program} COMMAND [arguments]
       {program} script.py [arguments]

PyTorch's nn.Module world as one small extension.

commands:
{commands}

`{program} COMMAND --help` explains a command.

Without the name of a command a program is run: `script.py`, `-m module`,
`-c code` and `-` are short for `run script.py` and so on. A command's name is
never taken for a file; `./info` is one.

options:
  -h, --help     show this text
  -V, --version  show the version
"""


def _help(program):
    width = max(map(len, COMMANDS)) + 2
    lines = (f"  {name.ljust(width)}{text}" for name, text in COMMANDS.items())
    return _HELP.format(program=program, commands="\n".join(lines))


def _show_help(arguments, program):
    print(_help(program), end="")
    return 0


def _show_version(arguments, program):
    print(f"rushlight {__version__}")
    return 0


_OPTIONS = {"-h": _show_help, "--help": _show_help, "-V": _show_version, "--version": _show_version}


def main(arguments: list[str] | None = None, program: str = "rushlight") -> int:
    """Do what a command line says and return the exit status; without arguments, that of this process."""
    if arguments is None:
        arguments = sys.argv[1:]
    if not arguments:
        print(_help(program), end="", file=sys.stderr)
        return 2
    first, *rest = arguments
    if first == "run":
        return _module("run").main(rest, f"{program} run")
    if first in COMMANDS:
        return _module("_guard").guarded(_module(first).main, rest, f"{program} {first}")
    if first in _OPTIONS:
        return _module("_guard").guarded(_OPTIONS[first], rest, program)
    return _module("run").main(arguments, program)


def _module(name):
    return importlib.import_module(f"{__name__}.{name}")


def nearest(word):
    """Return the command that a word was meant to be which is no file, or None."""
    if os.path.basename(word) != word or "." in word:
        return None
    import difflib

    return next(iter(difflib.get_close_matches(word, COMMANDS, 1)), None)
