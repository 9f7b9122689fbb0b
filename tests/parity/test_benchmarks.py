"""The harness of the benchmarks: results are checked before they are timed, in turns; lines are JSON."""

import json
from xml.etree import ElementTree

import pytest

pytest.importorskip("torch")

import bench_ops  # noqa: E402
import harness  # noqa: E402
import op_samples as samples  # noqa: E402
import op_table  # noqa: E402


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


def test_operators_are_compared_checked_and_resumed(tmp_path, capsys):
    lines, drawing = tmp_path / "lines.jsonl", tmp_path / "plot.svg"
    asked = [f"--{name}={value}" for name, value in (("json", lines), ("plot", drawing), ("size", "1e3"))]
    asked += ["--quick", "--op=relu", "--op=max_dim", "--forward"]
    assert bench_ops.main(asked) == 0
    where, *cases = map(json.loads, lines.read_text().splitlines())
    assert {"benchmark", "peaks", "threads"} <= set(where)
    assert {c["op"] for c in cases} == {"relu", "max_dim"}
    assert {"line", "transposed", "channels_last"} <= {c["case"].split(", ")[1] for c in cases}
    assert all(c["ratio"] > 0 and c["bytes"] > 4000 for c in cases)
    assert "elementwise" in capsys.readouterr().out
    ElementTree.parse(drawing)
    assert bench_ops.main(asked) == 0  # nothing is left to time
    assert sum("case" in line for line in map(json.loads, lines.read_text().splitlines())) == len(cases)


def test_operators_whose_results_differ_are_not_timed(monkeypatch, capsys):
    right = samples.function

    def wrong(library, entry):
        other = samples.OPERATORS["exp"] if library is bench_ops.torch else entry
        return right(library, other)

    monkeypatch.setattr(samples, "function", wrong)
    monkeypatch.setattr(bench_ops, "timed", lambda *_: pytest.fail("timed"))
    assert bench_ops.main(["--quick", "--op=relu", "--size=1e3", "--forward", "--json"]) == 1
    _, *cases = map(json.loads, capsys.readouterr().out.splitlines())
    assert cases[0]["differs"] == "result 0: 1000 of 1000 elements" and "ratio" not in cases[0]


def test_gradients_are_compared():
    case = next(c for c in op_table.cases_of("mul", "arith", "1e3") if c.variant == "transposed")
    (theirs, ours), moved, wrong = bench_ops.checked(case, "backward", "float32")
    assert not wrong and moved >= 5 * 4000
    assert bench_ops.once(bench_ops.torch, *theirs)[0].stride() == (1, 16)
    assert len(bench_ops.once(bench_ops._C, *ours)) == 2


@pytest.mark.parametrize("size", ["1e3", "1e5"])
def test_every_family_has_cases(size):
    for family, module in samples.FAMILIES.items():
        with_cases = [op for op in module.SAMPLES if op_table.cases_of(op, family, size)]
        assert len(with_cases) > len(module.SAMPLES) * 0.7, family
