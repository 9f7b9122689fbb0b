"""The guard on instruction counts: what it lets pass, what it refuses, and when it may not compare.

Counting itself needs valgrind and is `make instructions`; here only the comparing is tested.
"""

from pathlib import Path

import pytest

import count_instructions as guard
import counted_loops

BENCHMARKS = Path(guard.__file__).parent

TOOLS = {"python": "CPython 3.11.7, GCC 12.2.0", "compiler": "GCC 12.2.0", "libc": "glibc 2.36"}


@pytest.mark.parametrize(
    "now, fails",
    [(10_210, True), (10_201, True), (10_200, False), (10_190, False), (10_000, False), (5_000, False)],
)
def test_fails_above_two_per_cent(now, fails):
    rows, failed = guard.compare({"view": 10_000, "relu": 500}, {"view": now, "relu": 500})
    assert failed == (["view"] if fails else [])
    assert [row[:3] for row in rows] == [("view", 10_000, now), ("relu", 500, 500)]
    assert ("MORE" in guard.table(rows)) is fails
    assert f"{now / 100 - 100:+.2f}" in guard.table(rows)


def test_one_rise_is_not_made_good_by_a_fall():
    assert guard.compare({"a": 1000, "b": 1000}, {"a": 1021, "b": 10})[1] == ["a"]


def test_operations_may_neither_appear_nor_vanish():
    rows, failed = guard.compare({"a": 10, "gone": 10}, {"a": 10, "new": 10})
    assert failed == ["gone", "new"]
    assert [row[4] for row in rows] == ["", "not counted", "not recorded"]
    assert "gone" in guard.table(rows) and "new" in guard.table(rows)


@pytest.mark.parametrize(
    "tools, probe, word",
    [
        (TOOLS, 10_000, None),
        (TOOLS, 10_100, None),
        (TOOLS, 10_101, "plain Python"),
        (TOOLS, 9_899, "plain Python"),
        (TOOLS | {"python": "CPython 3.11.8, GCC 12.2.0"}, 10_000, "3.11.8"),
        (TOOLS | {"compiler": "GCC 13.1.0"}, 10_000, "13.1.0"),
    ],
)
def test_counts_of_other_tools_are_not_compared(tools, probe, word):
    differences = guard.other_tools((TOOLS, {guard.PROBE: 10_000}), (tools, {guard.PROBE: probe}))
    assert len(differences) == (word is not None)
    assert word is None or word in differences[0]


def test_what_is_written_is_read():
    counts = {guard.PROBE: 8498, "a + b, 4 elements": 2232, "m(x), 1 pre + 1 post hook": 4229}
    assert guard.parse(guard.render(TOOLS, counts, "release")) == (TOOLS, counts)


def test_every_operation_is_recorded():
    tools, counts = guard.parse(guard.RECORD.read_text())
    assert list(counts) == [guard.PROBE, *(name for name, *_ in counted_loops.CASES)]
    assert len(counts) == 13 and all(count > 100 for count in counts.values())
    assert set(tools) == {"python", "compiler", "libc", "valgrind", "machine"}


def test_totals_are_read_without_the_empty_loop(tmp_path):
    texts = {"relu * 500": 1_000, "state * 20": 900, "empty * 500": 100, "empty * 20": 4}
    for number, (name, total) in enumerate(texts.items()):
        text = f"version: 1\ndesc: Trigger: Client Request: {name}\nsummary: {total}\n\n0 5\ntotals: 9999\n"
        (tmp_path / f"counts.{number}").write_text(text)
    (tmp_path / "counts.9").write_text("desc: Trigger: Program termination\nsummary: 77\n")
    dumps = sorted(tmp_path.iterdir())
    assert guard.totals_of(dumps) == {"relu": (900, 500), "state": (896, 20)}


def test_statements_compute_what_they_say():
    counted_loops.check(counted_loops.scope())
