"""Measurements as a table: a row for each sub-label, a column for each description.

[------ label ------]
            |  a   |  b
1 threads: ----------         a group of rows for each number of threads
      (env) |  1.0 |  2.0
"""

from __future__ import annotations

import enum
import math

from rushlight import _missing

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Colorize", "Compare"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

BEST, GOOD, BAD, VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
BOLD, TERMINATE = "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """Say among which cells of a table the best are coloured."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text, value, best):
    """The text in the colour of a time beside the best one."""
    if value <= best * 1.01 or value <= best + 100e-9:
        start = BEST + BOLD
    elif value <= best * 1.1:
        start = GOOD + BOLD
    elif value >= best * 5:
        start = VERY_BAD + BOLD
    elif value >= best * 2:
        start = BAD
    else:
        return text
    return start + text + TERMINATE * 2


class _Column:
    """How the numbers below one description are written."""

    def __init__(self, table, cells):
        self.table = table
        there = [m for m in cells if m is not None]
        self.warns = table.options._highlight_warnings and any(m.has_warnings for m in there)
        digits = [math.ceil(math.log10(m.median / table.scale)) for m in there]
        self.decimals = 1
        if table.options._trim_significant_figures:
            self.decimals = min(max(m.significant_figures - d, 0) for m, d in zip(there, digits))
        self.width = max(digits) + self.decimals + (1 if self.decimals else 0)

    def text(self, m):
        if m is None:
            return " " * len(self._text(1, ""))
        value = m.median / self.table.scale
        if self.table.options._trim_significant_figures:
            value = trim_sigfig(value, m.significant_figures)
        warns = self.warns and m.has_warnings
        return self._text(value, f" (! {m.iqr / m.median * 100:.0f}%)" if warns else "")

    def _text(self, value, note):
        return f"{value:>{self.width}.{self.decimals}f}{note:>{7 if self.warns else 0}}"


class _Table:
    """The measurements of one label."""

    def __init__(self, results, options):
        self.label, self.options = results[0].label, options
        self.unit, self.scale = select_unit(min(m.median for m in results))
        rows = ordered_unique((m.num_threads, m.env, m.as_row_name) for m in results)
        self.rows = sorted(rows, key=lambda row: row[:2])  # of equal ones, the first comes first
        self.names = ordered_unique(m.description for m in results)
        self.cells = {((m.num_threads, m.env, m.as_row_name), m.description): m for m in results}
        self.columns = [
            _Column(self, [self.cells.get((row, name)) for row in self.rows]) for name in self.names
        ]

    def _row_heads(self):
        """The first cell of each row: with the environment, if there are several, where it changes."""
        environments = {env for _, env, _ in self.rows}
        width = max(len(str(env)) for env in environments) if len(environments) > 1 else 0
        before = None
        for threads, env, name in self.rows:
            shown = f"({env})" if len(environments) > 1 and (threads, env) != before else ""
            before = threads, env
            yield "  " + shown.ljust(width + 4) + name

    def _best(self, row, name):
        mode = self.options._colorize
        if mode is Colorize.NONE:
            return None
        if mode is Colorize.ROWWISE:
            group = [self.cells.get((row, each)) for each in self.names]
        else:
            group = [self.cells.get((each, name)) for each in self.rows if each[0] == row[0]]
        return min(m.median for m in group if m is not None)

    def _cell(self, row, name, text, width):
        text, m = text.center(width), self.cells.get((row, name))
        best = self._best(row, name) if m is not None else None
        return text if best is None else _colored(text, m.median, best)

    def __str__(self):
        heads = list(self._row_heads())
        texts = [
            [column.text(self.cells.get((row, name))) for column, name in zip(self.columns, self.names)]
            for row in self.rows
        ]
        titles = ["", *(name or "" for name in self.names)]
        whole = [titles, *([head, *cells] for head, cells in zip(heads, texts))]
        widths = [max(map(len, column)) for column in zip(*whole)]
        first = "  |  ".join(text.center(width) for text, width in zip(titles, widths))
        lines, threads = [first], None
        for row, head, cells in zip(self.rows, heads, texts):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(len(first), "-"))
            shown = [self._cell(row, *each) for each in zip(self.names, cells, widths[1:])]
            lines.append("  |  ".join([head.ljust(widths[0]), *shown]))
        title = f" {self.label or ''} ".center(len(first) - 2, "-")
        unit = f"Times are in {unit_to_english(self.unit)}s ({self.unit})."
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        warned = any(column.warns for column in self.columns)
        return "\n".join([f"[{title}]", *lines, "", unit, note if warned else ""])


class Compare:
    """Lay measurements out as tables, one for each label.

    Parameters
    ----------
    results : list of Measurement
        Those of the same task are merged.

    Raises
    ------
    ValueError
        If one is no Measurement.

    Notes
    -----
    Same as torch.utils.benchmark.Compare: https://docs.pytorch.org/docs/2.13/benchmark_utils.html

    Examples
    --------
    >>> from rushlight.utils.benchmark import Compare, Measurement, TaskSpec
    >>> one = Measurement(1, [1e-6], TaskSpec("x", "", label="add", sub_label="small", description="old"))
    >>> two = Measurement(1, [3e-6], TaskSpec("x", "", label="add", sub_label="small", description="new"))
    >>> print("\\n".join(line.rstrip() for line in str(Compare([one, two])).splitlines()))
    [---------- add ----------]
                 |  old  |  new
    1 threads: ----------------
          small  |  1.0  |  3.0
    <BLANKLINE>
    Times are in microseconds (us).
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def __str__(self) -> str:
        return "\n".join(self._render())

    def extend_results(self, results: Any) -> None:
        """Add measurements."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only the digits that the measurements support."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the best cells of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark measurements whose times differ more than they should."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def _render(self):
        groups: dict[Any, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.label, []).append(each)
        return [str(_Table(group, self)) for group in groups.values()]
