"""rushlight run: runs a program that imports torch, with rushlight in torch's place."""

import os
import sys
import types

_HELP = """usage: {program} [options] script.py [arguments]
       {program} [options] -m module [arguments]
       {program} [options] -c code [arguments]
       {program} [options] - [arguments]

Runs a Python program that says `import torch`, unmodified: in its process the
name torch, with all its submodules, means rushlight, even where PyTorch is
installed, and so in Python processes that it starts. Arguments, tracebacks and
the exit status are those of `python script.py`. A directory or zip file with a
__main__.py is a program, too, and - is what comes from standard input.

options:
  -h, --help  show this text
  -u, -W filter, -X option, -B, -O, -OO
              those of python

examples:
  {program} train.py --epochs 3
  {program} -m package.train --epochs 3
  {program} -u -W error train.py
  {program} -c "import torch; print(torch.arange(3) ** 2)"
"""


def _usage_error(program, text):
    print(f"{program}: {text}; try `{program} --help`", file=sys.stderr)
    return 2


def _new_main(**attributes):
    """Put a fresh module in the place of this one, as python has it when a program starts."""
    main = types.ModuleType("__main__")
    import builtins

    main.__dict__.update(attributes, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main


def _report(error, skip):
    """Print an uncaught error as python does, without the frames of this file."""
    traceback = error.__traceback__
    for _ in range(skip):
        traceback = traceback.tb_next if traceback is not None else None
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.excepthook(type(error), error, traceback)


def _guarded(function, *arguments):
    """Call what runs a program, and turn what escapes from it into what python prints and exits with."""
    try:
        function(*arguments)
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _report(error, 1)
        sys.stdout.flush()
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        _report(error, 1)
        return 1
    return 0


def _run_code(source, name, main):
    try:
        code = compile(source, name, "exec", dont_inherit=True)
    except Exception as error:
        _report(error, 1)
        return 1
    return _guarded(exec, code, main.__dict__)


def _run_module(name, alter_argv):
    import runpy

    return _guarded(runpy._run_module_as_main, name, alter_argv)


def _set_import_folder(folder):
    """As python does it: a script's folder, or the current one, is where imports are looked for first."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run_script(path, program):
    if os.path.isdir(path) or _is_archive(path):
        # a directory or zip file with a __main__.py
        if not sys.flags.safe_path:
            sys.path[0] = path
        else:
            sys.path.insert(0, path)
        _new_main(__spec__=None)
        return _run_module("__main__", False)
    full = os.path.abspath(path)
    try:
        with open(full, "rb") as file:
            source = file.read()
    except OSError as error:
        return _cannot_open(path, full, error, program)
    _set_import_folder(os.path.dirname(os.path.realpath(path)))
    from importlib.machinery import SourceFileLoader

    main = _new_main(__file__=full, __loader__=SourceFileLoader("__main__", full), __cached__=None)
    return _run_code(source, full, main)


def _cannot_open(path, full, error, program):
    from rushlight import _escape

    from . import nearest

    text = f"can't open file '{_escape.plain(full)}': [Errno {error.errno}] {error.strerror}"
    meant = nearest(path)
    print(f"{program}: {text}" + (f"; did you mean the command '{meant}'?" if meant else ""), file=sys.stderr)
    return 2


def _is_archive(path):
    import zipfile

    return not path.endswith(".py") and zipfile.is_zipfile(path)


# ---- options of the interpreter ----
_FLAGS = ("-u", "-B", "-O", "-OO")
_WITH_VALUE = ("-W", "-X")


def _split(arguments):
    """Return the options of python that come first, and the rest."""
    n = 0
    while n < len(arguments):
        word = arguments[n]
        if word in _WITH_VALUE and n + 1 < len(arguments):
            n += 2
        elif word in _FLAGS or (word[:2] in _WITH_VALUE and len(word) > 2):
            n += 1
        else:
            break
    return arguments[:n], arguments[n:]


def _start_again(options, arguments):
    """Become a python that has these options from its start, as only then they all work."""
    import subprocess

    script = sys.argv[0]
    of_module = os.path.basename(script) == "__main__.py" or not os.path.isfile(script)
    entry = ["-m", "rushlight"] if of_module else [script]
    command = [
        sys.executable,
        *subprocess._args_from_interpreter_flags(),
        *options,
        *entry,
        "run",
        *arguments,
    ]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)


def main(arguments, program):
    """Run what the arguments name; return the exit status."""
    options, arguments = _split(arguments)
    if not arguments:
        return _usage_error(program, "a script is missing")
    first, rest = arguments[0], arguments[1:]
    if first in ("-h", "--help"):
        print(_HELP.format(program=program), end="")
        return 0
    if first in ("-m", "-c") and not rest:
        return _usage_error(program, f"argument expected for the {first} option")
    if first in _WITH_VALUE:
        return _usage_error(program, f"argument expected for the {first} option")
    if first.startswith("-") and first not in ("-m", "-c", "-"):
        return _usage_error(program, f"unknown option {first}")
    if options:
        _start_again(options, arguments)
    from rushlight import _alias, _stack

    _alias.install_as_torch()
    _stack.runner = _guarded.__code__
    if first == "-m":
        sys.argv = ["-m", *rest[1:]]
        _set_import_folder(os.getcwd())
        _new_main(__spec__=None)
        return _run_module(rest[0], True)
    if first in ("-c", "-"):
        sys.argv = [first, *(rest[1:] if first == "-c" else rest)]
        _set_import_folder("")
        source, name = (rest[0], "<string>") if first == "-c" else (sys.stdin.read(), "<stdin>")
        space = _new_main()
        return _run_code(source, name, space)
    sys.argv = arguments
    return _run_script(first, program)
