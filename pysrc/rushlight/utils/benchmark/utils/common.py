"""Measurements: times of a statement, what was measured, and their statistics as text."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import textwrap

import rushlight
from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = [
    "TaskSpec",
    "Measurement",
    "select_unit",
    "unit_to_english",
    "trim_sigfig",
    "ordered_unique",
    "set_torch_threads",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

_MOST_DIGITS = 4
_SHORTEST_INTERVAL = 25e-9  # seconds: below it a confidence interval says nothing
_UNSTEADY, _VERY_UNSTEADY = 0.1, 0.25  # interquartile ranges in parts of the median
_UNITS = {
    "ns": (1e-9, "nanosecond"),
    "us": (1e-6, "microsecond"),
    "ms": (1e-3, "millisecond"),
    "s": (1, "second"),
}


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """Say what was measured: the statement, its setup, and names for tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, else the statement, with the sub-label."""
        if self.label is None and "\n" in self.stmt:
            sub = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{sub}\n{textwrap.indent(self.stmt, '  ')}"
        sub = f": {self.sub_label}" if self.sub_label else ""
        return (self.stmt if self.label is None else self.label) + sub

    def setup_str(self) -> str:
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and setup as lines."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


_FIELDS = frozenset(each.name for each in dataclasses.fields(TaskSpec))


def _quantile(ordered, q):
    """Between the nearest two of ordered numbers, as torch.quantile."""
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@dataclasses.dataclass(repr=False)
class Measurement:
    """Hold the times of a statement, with their statistics.

    Parameters
    ----------
    number_per_run : int
        Runs of the statement that each time is of.
    raw_times : list of float
        Times in seconds.
    task_spec : TaskSpec
        What was measured. Its attributes are those of the measurement, too.
    metadata : dict, optional
        Whatever the user likes to keep with it.

    Notes
    -----
    Same as torch.utils.benchmark.Measurement: https://docs.pytorch.org/docs/2.13/benchmark_utils.html

    Examples
    --------
    >>> from rushlight.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [0.5, 2.5, 3.0], TaskSpec("x + 1", "pass"))
    >>> m.median, m.title
    (0.25, 'x + 1')
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one run of the statement, for each time."""
        return [t / self.number_per_run for t in self.raw_times]

    def _ordered(self):
        return sorted(self.times)

    @property
    def median(self) -> float:
        return _quantile(self._ordered(), 0.5) if self.raw_times else -1.0

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times) if self.raw_times else -1.0

    def _quartiles(self):
        ordered = self._ordered()
        return (_quantile(ordered, 0.25), _quantile(ordered, 0.75)) if ordered else (-1.0, -1.0)

    @property
    def iqr(self) -> float:
        """The interquartile range, in seconds."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the times between the quartiles support: 1 to 4."""
        ordered = self._ordered()
        n = len(ordered)
        middle = ordered[n // 4 : math.ceil(3 * n / 4)]
        interval = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _SHORTEST_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_DIGITS)

    def meets_confidence(self, threshold: float = _UNSTEADY) -> bool:
        """Whether the interquartile range is below that part of the median."""
        return self.iqr / self.median < threshold

    def _warnings(self):
        if not self.raw_times or self.meets_confidence(_UNSTEADY):
            return []
        why = "This could indicate system fluctuation."
        if not self.meets_confidence(_VERY_UNSTEADY):
            why = "This suggests significant environmental influence."
        percent = self.iqr / self.median * 100
        return [
            f"  WARNING: Interquartile range is {percent:.1f}% of the median measurement.\n           {why}"
        ]

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ more than they should."""
        return bool(self._warnings())

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, median, (low, high) = len(self.raw_times), self.median, self._quartiles()
        unit, scale = select_unit(median)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if n > 1 else ''}{median / scale:.2f} {unit}")
        if n >= 4:
            spread = f"({low / scale:.2f} to {high / scale:.2f})"
            lines.append(f"  IQR:    {(high - low) / scale:.2f} {unit} {spread}")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        per = "per measurement," if n > 1 else ","
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs {per} {threads}")
        return "\n".join([*lines, *self._warnings()])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one measurement for each task, of all its times as those of single runs."""
        groups: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time in seconds has 1 to 3 digits before the point, and its seconds.

    Examples
    --------
    >>> torch.utils.benchmark.select_unit(2e-5)
    ('us', 1e-06)
    """
    power = math.log10(t) // 3 if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(power, "s")
    return unit, _UNITS[unit][0]


def unit_to_english(u: str) -> str:
    """Return the word for a unit: "us" is "microsecond"."""
    return _UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """Round a number to n significant digits.

    Examples
    --------
    >>> round(torch.utils.benchmark.trim_sigfig(3.14159, 2), 6)
    3.1
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    if x == 0:
        return 0.0
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return different elements, each where it came first."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let operators use n threads within the context."""
    before = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(n)
        yield
    finally:
        rushlight.set_num_threads(before)
