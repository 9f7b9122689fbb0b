"""What all commands but `run` do alike: command lines, failures, pipes that close, Ctrl-C."""

import argparse
import os
import signal
import sys

from .. import _escape


class Failure(Exception):
    """Ends a command with a line on stderr and an exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


class Parser(argparse.ArgumentParser):
    """Help that keeps its lines, and errors of one line."""

    def __init__(self, program, description, epilog):
        super().__init__(
            prog=program,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message):
        raise Failure(f"{message}; try `{self.prog} --help`", 2)


def reason(error):
    """Return why a file could not be opened, read or written, as one line."""
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return (isinstance(error, OSError) and error.strerror) or _escape.line(str(error)) or type(error).__name__


def _drop_output():
    """Let what is still to be flushed go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _die_of(number):
    """End as a process does that does not handle the signal, so that a shell sees it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def guarded(command, arguments, program):
    """Run a command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without a letter shows its number
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            status = command(arguments, program)
        except SystemExit as ended:  # --help
            status = ended.code or 0
        sys.stdout.flush()
        return status
    except Failure as failure:
        print(f"{program}: {_escape.line(str(failure))}", file=sys.stderr)
        return failure.status
    except BrokenPipeError:
        _drop_output()
        return _die_of(signal.SIGPIPE)
    except KeyboardInterrupt:
        return _die_of(signal.SIGINT)
    except OSError as error:
        _drop_output()
        print(f"{program}: {reason(error)}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"{program}: {reason(error)}", file=sys.stderr)
        return 1
