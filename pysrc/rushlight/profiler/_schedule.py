"""When a profiler records: actions, schedules, what is done with a trace."""

import os
from enum import Enum
from warnings import warn

from rushlight import _homes

__all__ = ["ProfilerAction", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(Enum):
    """What a profiler does in a step; a schedule answers one of the first four."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def always(_step):
    """Record every step: the schedule of a profiler that was given none."""
    return ProfilerAction.RECORD


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
):
    """Make the schedule of a profiler: a function from the number of a step to what is done in it.

    Parameters
    ----------
    wait, warmup, active : int
        A cycle: steps that are not recorded, steps with the profiler ready, steps that are recorded.
    repeat : int
        How many cycles there are; 0 goes on.
    skip_first : int
        Steps before the first cycle.
    skip_first_wait : int
        Anything but 0 lets the first cycle begin without its ``wait`` steps.

    Examples
    --------
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html#torch.profiler.schedule
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if place < wait or 0 < repeat <= cycle:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return schedule_fn


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
):
    """Make an ``on_trace_ready`` that writes each trace to a file of its own below ``dir_name``.

    Parameters
    ----------
    dir_name : str
        The folder, which is made where it is missing; RuntimeError where that fails.
    worker_name : str, optional
        What the files' names begin with; the machine and the process without it.
    use_gzip : bool
        Compress the files.

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html#torch.profiler.tensorboard_trace_handler
    """
    import socket
    import time

    def handler_fn(prof) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler_fn


_homes.adopt("rushlight.profiler.profiler", ProfilerAction, schedule, tensorboard_trace_handler)
