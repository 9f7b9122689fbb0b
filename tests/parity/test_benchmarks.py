"""The harness of the benchmarks: results are checked before they are timed, in turns; lines are JSON."""

import json

import pytest

pytest.importorskip("torch")

import harness  # noqa: E402


def run(bench, order, check=lambda: True, rounds=3):
    sides = [harness.repeated(lambda name=name: order.append(name)) for name in ("theirs", "ours")]
    return bench.compare("case", *sides, check, 2, rounds, goal=4)


@pytest.mark.parametrize("answer, text", [(False, "differ; nothing"), ("by 3", "differ: by 3; nothing")])
def test_nothing_is_timed_when_results_differ(answer, text):
    order = []
    with pytest.raises(SystemExit, match=f"case: the results {text} is timed"):
        run(harness.Bench("About.", []), order, lambda: answer)
    assert order == []


def test_sides_run_in_turns():
    order = []
    case = run(harness.Bench("About.", ["--quick"]), order)
    assert order == ["theirs", "theirs", "ours", "ours"] * 3
    assert len(case.of("theirs")) == len(case.of("ours", "own")) == 3
    assert case.min("ours") <= case.median("ours") and case.ratio > 0 and case.neighbours > 0


def test_ratios_are_those_of_minima_and_of_neighbours():
    taken = [[harness.Times(wall, wall) for wall in side] for side in ((8, 6, 9), (2, 3, 1))]
    case = harness.Case(*taken, "wall")
    assert (case.min("theirs"), case.median("ours"), case.ratio, case.neighbours) == (6, 2, 6, 4)


def test_lines_are_json(capsys):
    bench = harness.Bench("About.", ["--json"])
    bench.say("a line of the table")
    run(bench, [])
    where, case = map(json.loads, capsys.readouterr().out.splitlines())
    assert {"date", "cpu", "cpus", "isa", "threads", "versions"} <= set(where)
    assert {"torch", "rushlight", "python", "onednn"} == set(where["versions"])
    assert case["case"] == "case" and case["goal"] == 4 and (case["calls"], case["rounds"]) == (2, 3)
    assert set(case["torch"]["wall"]) == set(case["rushlight"]["own"]) == {"min", "median"}


def test_a_part_of_a_call_may_be_what_counts():
    moments = [harness.Times(1.0, 2.0), harness.Times(4.0, 2.5)]
    assert harness.part(lambda: moments)(1) == (3.0, 0.5)
