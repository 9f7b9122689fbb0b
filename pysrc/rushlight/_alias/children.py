"""Processes that multiprocessing starts anew, in which the program imports torch again: they get the alias.

What such a process is told first is a pickled dict, which ``multiprocessing.spawn`` makes; one value more in
it installs the alias when it is read.
"""

import sys

_INSTALL = "import sys\nsys.path[:] = {!r}\nfrom rushlight import _alias\n_alias.install()"


class _Alias:
    def __reduce__(self):
        return exec, (_INSTALL.format(sys.path),)


def teach(spawn):
    """Let multiprocessing.spawn hand the alias on."""
    usual = spawn.get_preparation_data

    def get_preparation_data(name):
        # a fork server that imported the program itself would do so without the alias
        server = sys._getframe(1).f_globals.get("__name__") == "multiprocessing.forkserver"
        data = usual(name)
        if server:
            return {key: value for key, value in data.items() if not key.startswith("init_main")}
        return {"rushlight": _Alias(), **data}

    spawn.get_preparation_data = get_preparation_data
