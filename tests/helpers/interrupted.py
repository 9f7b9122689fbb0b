"""Ctrl-C at each line of a piece of Python, in turn."""

import sys


class Interrupted:
    """with Interrupted(n, folder) as it: KeyboardInterrupt at the nth line of code there, if reached."""

    def __init__(self, at, folder):
        self.left, self.folder, self.reached = at, folder, False

    def _line(self, frame, event, _):
        self.left -= event == "line"
        # CPython 3.11 forgets to end the handling of an exception that a tracer interrupts
        if self.left <= 0 and event == "line" and not self.reached and sys.exc_info()[0] is None:
            self.reached = True
            raise KeyboardInterrupt
        return self._line

    def _call(self, frame, event, _):
        return self._line if self.folder in frame.f_code.co_filename else None

    def __enter__(self):
        sys.settrace(self._call)
        return self

    def __exit__(self, kind, error, trace):
        sys.settrace(None)
        return kind is KeyboardInterrupt
