"""python -m rushlight: runs a program that imports torch, with rushlight in torch's place."""

import os
import sys
import types

_HELP = """usage: python -m rushlight script.py [arguments]
       python -m rushlight -m module [arguments]
       python -m rushlight -c code [arguments]
       python -m rushlight - [arguments]        (reads the script from standard input)

Runs a Python program that says `import torch`, unmodified: in its process the name torch, with all its
submodules, means rushlight, even where PyTorch is installed.

options:
  -h, --help     show this text
  -V, --version  show the version
"""


def _usage_error(text):
    print(f"python -m rushlight: {text}\nTry `python -m rushlight -h'.", file=sys.stderr)
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


def _guarded(run):
    """Call run() and turn what escapes from it into what python prints and exits with."""
    try:
        run()
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _report(error, 3)
        sys.stdout.flush()
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        _report(error, 3)
        return 1
    return 0


def _run_code(source, name, main):
    code = compile(source, name, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _run_module(name, alter_argv):
    import runpy

    runpy._run_module_as_main(name, alter_argv)


def _run_script(path):
    if os.path.isdir(path) or _is_archive(path):
        # a directory or zip file with a __main__.py
        if not sys.flags.safe_path:
            sys.path[0] = path
        else:
            sys.path.insert(0, path)
        _new_main(__spec__=None)
        return _guarded(lambda: _run_module("__main__", False))
    full = os.path.abspath(path)
    try:
        with open(full, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"python -m rushlight: can't open file '{full}': [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return 2
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    from importlib.machinery import SourceFileLoader

    main = _new_main(__file__=full, __loader__=SourceFileLoader("__main__", full), __cached__=None)
    return _guarded(lambda: _run_code(source, full, main))


def _is_archive(path):
    import zipfile

    return not path.endswith(".py") and zipfile.is_zipfile(path)


def main(arguments):
    """Do what the command line says; return the exit status."""
    if not arguments:
        return _usage_error("a script is missing")
    first, rest = arguments[0], arguments[1:]
    if first in ("-h", "--help"):
        print(_HELP, end="")
        return 0
    if first in ("-V", "--version"):
        from rushlight.version import __version__

        print(f"rushlight {__version__}")
        return 0
    if first in ("-m", "-c") and not rest:
        return _usage_error(f"argument expected for the {first} option")
    if first.startswith("-") and first not in ("-m", "-c", "-"):
        return _usage_error(f"unknown option {first}")
    from rushlight import _alias

    _alias.install()
    if first == "-m":
        sys.argv = ["-m", *rest[1:]]
        _new_main(__spec__=None)
        return _guarded(lambda: _run_module(rest[0], True))
    if first in ("-c", "-"):
        sys.argv = [first, *(rest[1:] if first == "-c" else rest)]
        if not sys.flags.safe_path:
            sys.path[0] = ""
        source, name = (rest[0], "<string>") if first == "-c" else (sys.stdin.read(), "<stdin>")
        program = _new_main()
        return _guarded(lambda: _run_code(source, name, program))
    sys.argv = arguments
    return _run_script(first)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
