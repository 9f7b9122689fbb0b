"""The command `rushlight`: run, inspect, convert, summary, info.

Each command is a module with ``main(arguments, program)``, imported when it is wanted. It returns the exit
status: 0, 1 for a file or model that failed, 2 for a wrong command line.
"""

import importlib
import os
import sys

COMMANDS = {
    "run": "run a program that says `import torch`, with rushlight in torch's place",
    "inspect": "show what a checkpoint holds, without running anything of it",
    "convert": "write a checkpoint in another format: .pth, .safetensors",
    "summary": "show the layers of a model: output shapes, parameters, multiply-adds",
    "info": "show versions, processor, libraries and switches, for a bug report",
}

_HELP = """usage: {program} COMMAND [arguments]
       {program} script.py [arguments]

PyTorch's nn.Module world as one small extension.

commands:
{commands}

`{program} COMMAND --help` explains a command.

Without the name of a command a program is run: `script.py`, `-m module`, `-c code` and `-` are short for
`run script.py` and so on. A command's name is never taken for a file; `./info` is one.

options:
  -h, --help     show this text
  -V, --version  show the version
"""


def _help(program):
    width = max(map(len, COMMANDS)) + 2
    lines = (f"  {name.ljust(width)}{text}" for name, text in COMMANDS.items())
    return _HELP.format(program=program, commands="\n".join(lines))


def main(arguments=None, program="rushlight"):
    """Do what a command line says and return the exit status; without arguments, that of this process."""
    if arguments is None:
        arguments = sys.argv[1:]
    if not arguments:
        print(_help(program), end="", file=sys.stderr)
        return 2
    first, *rest = arguments
    if first in ("-h", "--help"):
        print(_help(program), end="")
        return 0
    if first in ("-V", "--version"):
        from rushlight.version import __version__

        print(f"rushlight {__version__}")
        return 0
    if first == "run" or first not in COMMANDS:
        from . import run

        return run.main(rest, f"{program} run") if first == "run" else run.main(arguments, program)
    from ._guard import guarded

    command = importlib.import_module(f"{__name__}.{first}")
    return guarded(command.main, rest, f"{program} {first}")


def nearest(word):
    """Return the command that a word was meant to be which is no file, or None."""
    if os.path.basename(word) != word or "." in word:
        return None
    import difflib

    return next(iter(difflib.get_close_matches(word, COMMANDS, 1)), None)
