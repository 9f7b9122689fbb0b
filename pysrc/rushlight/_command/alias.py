"""rushlight alias: a distribution called torch that is rushlight, in an environment."""

import sys
from pathlib import Path

from .. import _escape
from ._guard import Failure, Parser, reason

_ABOUT = "Let packages that ask for torch find rushlight, in this environment."
_MORE = """\
install  puts a small distribution torch beside rushlight: `import torch`
         gives rushlight, and pip, importlib.metadata and type checkers find a
         torch. It refuses where PyTorch is installed.
status   says what is there; the exit status is 0 if torch is rushlight.
remove   takes away what install put there, and nothing else.

examples:
  {program} install && pip install einops
  {program} install --target build/packages
  {program} remove
"""
_KEEP = """\
`pip install -U torch` would put PyTorch in its place. A file of constraints with
this line keeps it (`pip install -c FILE ...`, or the variable PIP_CONSTRAINT):
torch=={version}
"""


def _folder_and_path(target):
    """Where the alias belongs, and where else a torch may lie."""
    from .._alias import SITE, environment

    if target is not None:
        return Path(target), ()
    return environment.folder_of_packages(), [each for each in sys.path if each != SITE]


def _files(names):
    return f"{_escape.count(len(names), 'file')} ({names[0]}{' ...' if len(names) > 1 else ''})"


def _install(target):
    from .._alias import VERSION, environment

    folder, path = _folder_and_path(target)
    try:
        n = environment.install(folder, path)
    except environment.Refused as refused:
        raise Failure(str(refused)) from None
    except OSError as error:
        raise Failure(f"{folder} is as it was: {reason(error)}") from None
    if n == 0:
        print(f"torch {VERSION} is there already, in {folder}")
    else:
        print(f"torch {VERSION}: {_escape.count(n, 'file')} in {folder}")
        print("  torch/  says that torch is rushlight, to Python and to type checkers")
        print(f"  torch-{VERSION}.dist-info/  says so to pip")
    print(_KEEP.format(version=VERSION), end="")
    return 0


def _tell_rest(state, verb):
    if state.other:
        print(f"torch {state.other[0]}, which is not rushlight, is in {state.other[1]}")
    for what, names in (("changed since", state.changed), ("not of the alias", state.strange)):
        if names:
            print(f"{what}{verb}: {_files(names)} in {state.folder}")


def _status(target):
    from .._alias import VERSION, environment

    folder, path = _folder_and_path(target)
    state = environment.look(folder, path)
    if state.info is None:
        print(f"no alias in {folder}")
    elif state.whole:
        old = "" if state.version == VERSION else f"; `rushlight alias install` makes it {VERSION}"
        print(f"torch {state.version} is rushlight, in {folder}{old}")
    else:
        print(f"torch {state.version} was rushlight, in {folder}, and is no more what was installed")
    if state.missing:
        print(f"missing: {_files(state.missing)} in {folder}")
    _tell_rest(state, "")
    return 0 if state.whole else 1


def _remove(target):
    from .._alias import environment

    folder, _ = _folder_and_path(target)
    try:
        state = environment.remove(folder)
    except OSError as error:
        raise Failure(f"{folder}: {reason(error)}; call it again to remove the rest") from None
    if state.info is None:
        print(f"no alias in {folder}")
    else:
        print(f"torch {state.version}: {_escape.count(state.removed, 'file')} removed from {folder}")
    _tell_rest(state, ", left there")
    return 0


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    actions = {"install": _install, "remove": _remove, "status": _status}
    parser.add_argument("action", choices=actions, metavar="install|remove|status")
    parser.add_argument("--target", metavar="FOLDER", help="a folder of packages, instead of this Python's")
    options = parser.parse_args(arguments)
    return actions[options.action](options.target)
