"""Several processes that run one function, and what becomes of them."""

import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

from .._C import _prctl_pr_set_pdeathsig

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

log = logging.getLogger(__name__)


class ProcessException(Exception):
    """A process did not end well: its number in error_index, its pid in error_pid."""

    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised; the text holds the traceback."""


class ProcessExitedException(ProcessException):
    """The process exited with a status, or was killed by a signal."""

    __slots__ = ["exit_code"]

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _wrap(fn, i, args, error_file):
    """Run in the process: call the function, leave the traceback of what it raises in the file."""
    # a process that is no daemon ends with its parent, too; what runs in the background may ignore SIGINT
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    _prctl_pr_set_pdeathsig(signal.SIGTERM if ignored else signal.SIGINT)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has ended it
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


def _exit_error(index, process):
    code = process.exitcode
    if code >= 0:
        text = f"process {index:d} terminated with exit code {code:d}"
        return ProcessExitedException(text, index, process.pid, code)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"<Unknown signal {-code}>"
    text = f"process {index:d} terminated with signal {name}"
    return ProcessExitedException(text, index, process.pid, code, name)


class ProcessContext:
    """The processes that start_processes() has started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """Return the ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def _join_procs_with_timeout(self, timeout):
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _living(self):
        return [process for process in self.processes if process.is_alive()]

    def _end_all(self, grace_period):
        if grace_period is not None:
            self._join_procs_with_timeout(grace_period)
        for process in self._living():
            log.warning("Terminating process %s via signal SIGTERM", process.pid)
            process.terminate()
        self._join_procs_with_timeout(30 if grace_period is None else grace_period)
        for process in self._living():
            log.warning(
                "Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid
            )
            process.kill()
        for process in self.processes:
            process.join()

    def _error(self, index):
        process, path = self.processes[index], self.error_files[index]
        if not os.access(path, os.R_OK):
            return _exit_error(index, process)
        with open(path, "rb") as file:
            text = pickle.load(file)
        text = f"\n\n-- Process {index:d} terminated with the following error:\n{text}"
        return ProcessRaisedException(text, index, process.pid)

    def join(self, timeout=None, grace_period=None):
        """Wait until a process ends; True when all have.

        When one ends badly the others get `grace_period` seconds to end by themselves, then SIGTERM, then
        SIGKILL, and ProcessRaisedException or ProcessExitedException says what became of the first.
        """
        for sentinel in (
            multiprocessing.connection.wait(self.sentinels.keys(), timeout) if self.sentinels else ()
        ):
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                self._end_all(grace_period)
                raise self._error(index)
        return not self.sentinels


class SpawnContext(ProcessContext):
    """The former name of ProcessContext."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def _error_path():
    """A path that nobody else uses; a file is there only when a process has failed."""
    descriptor, path = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".pickle")
    os.close(descriptor)
    os.unlink(path)
    return path


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call fn(i, *args) in each of nprocs processes, which start_method makes; as spawn().

    With "forkserver" and TORCH_MP_PARALLEL_START=1 they are started by several threads at once.
    """
    context = multiprocessing.get_context(start_method)

    def start(i):
        path = _error_path()
        process = context.Process(target=_wrap, args=(fn, i, args, path), daemon=daemon)
        process.start()
        return process, path

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
        log.info("Starting processes in parallel.")
        with ThreadPoolExecutor(max_workers=nprocs) as executor:
            started = list(executor.map(start, range(nprocs)))
    else:
        started = [start(i) for i in range(nprocs)]
    processes = ProcessContext([process for process, _ in started], [path for _, path in started])
    if not join:
        return processes
    while not processes.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call fn(i, *args) in each of nprocs new processes, for i from 0 on.

    fn is pickled by its name, so it stands at the top level of a module. When one of them fails the others
    are ended, and ProcessRaisedException with its traceback, or ProcessExitedException, is raised. Returns
    None, or without `join` a ProcessContext.

    https://docs.pytorch.org/docs/2.13/multiprocessing.html#torch.multiprocessing.spawn.spawn
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
