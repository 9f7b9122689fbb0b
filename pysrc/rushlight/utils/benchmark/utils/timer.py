"""Timers: as ``timeit.Timer``, with a warm-up, replicates, one thread unless more are asked for, and GPUs."""

from __future__ import annotations

import enum
import statistics
import textwrap
import timeit

import rushlight
from rushlight import _missing

from .common import Measurement, TaskSpec, set_torch_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

__all__ = ["Timer", "timer", "Language"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

_MOST_RUNS = 2147483647


def timer() -> float:
    """Return the time in seconds, once the GPU, if this process uses one, has done its work."""
    if rushlight.cuda.is_initialized():  # to look for one takes longer than what is timed
        rushlight.accelerator.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """Name the language of a statement."""

    PYTHON = 0
    CPP = 1


def _tidy(code):
    """Code without the indentation of the block that it stands in, and without empty lines around."""
    return textwrap.dedent(code).removeprefix("\n").rstrip()


class Timer:
    """Measure how long a statement takes.

    Parameters
    ----------
    stmt : str, default 'pass'
        Python code that is run and timed.
    setup : str, default 'pass'
        Code that runs before it, untimed.
    global_setup : str, default ''
        Of C++ statements; not supported.
    timer : callable, optional
        Returns the time in seconds; by default one that waits for the GPU.
    globals : dict, optional
        What the statement sees besides ``torch``.
    label, sub_label, description : str, optional
        Names of the table, the row and the column in Compare.
    env : str, optional
        A name for what the process is run in, such as a branch; Compare keeps them apart.
    num_threads : int, default 1
        Threads that operators may use.
    language : Language or str, default Language.PYTHON
        'c++' is not supported.

    Raises
    ------
    ValueError
        If `stmt` is no text, or the language is none of PyTorch's.
    NotImplementedError
        If the language is C++.

    Notes
    -----
    Same as torch.utils.benchmark.Timer: https://docs.pytorch.org/docs/2.13/benchmark_utils.html

    Examples
    --------
    >>> from rushlight.utils.benchmark import Timer
    >>> m = Timer("x + 1", globals={"x": torch.ones(8)}, label="add").timeit(100)
    >>> m.title, m.number_per_run, 0 < m.median < 1
    ('add', 100, True)
    """

    _timer_cls: Any = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise _missing.refuse("benchmark.Timer of C++ code")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved "
                "to `setup`."
            )
        self._language = Language.PYTHON
        self._globals = {"torch": rushlight, **(globals or {})}
        stmt, setup = _tidy(stmt), _tidy(setup)
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=dict(self._globals))
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number):
        return max(self._timer.timeit(number), 1e-9)  # nobody divides by zero

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement a number of times, after a hundredth of that to warm up: one time."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not supported: see blocked_autorange()."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        """Not supported: see blocked_autorange()."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time):
        """So many runs that the clock costs less than a ten thousandth of them. They warm up, too."""
        overhead = statistics.median(self._timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time or number * 10 > _MOST_RUNS:
                return number
            number *= 10

    def _measure(self, number, is_enough, min_run_time, max_run_time, callback):
        times: list[float] = []
        while sum(times) < min_run_time or not is_enough(times):
            times.append(self._timeit(number))
            if callback:
                callback(number, times[-1])
            if max_run_time and sum(times) > max_run_time:
                break
        return times

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks of runs until a time has passed.

        Parameters
        ----------
        callback : callable, optional
            Called with the runs and seconds of each block.
        min_run_time : float, default 0.2
            Seconds that all blocks take together, at least.

        Returns
        -------
        Measurement
            A time for each block.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._measure(number, lambda times: True, min_run_time, None, callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """Measure blocks of runs until their times agree.

        Parameters
        ----------
        threshold : float, default 0.1
            Stop when the interquartile range is below that part of the median.
        min_run_time : float, default 0.01
            Seconds that all blocks take together, at least.
        max_run_time : float, default 10
            Seconds after which to stop in any case.
        callback : callable, optional
            Called with the runs and seconds of each block.

        Returns
        -------
        Measurement
            A time for each block.
        """

        def is_enough(times):
            return len(times) > 3 and Measurement(1, times, self._task_spec).meets_confidence(threshold)

        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            times = self._measure(number, is_enough, min_run_time, max_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Raise NotImplementedError: instructions are counted by ``valgrind --tool=callgrind python``."""
        raise _missing.refuse(
            "Timer.collect_callgrind: run `valgrind --tool=callgrind python script.py` instead"
        )
