"""torch.utils.benchmark: timers run statements as often as they say."""

import pytest

import rushlight as torch
from rushlight.utils.benchmark import (
    Compare,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    Language,
    Measurement,
    ParameterAlias,
    TaskSpec,
    Timer,
    set_torch_threads,
    timer,
)


def counting(**options):
    runs = []
    return runs, Timer("runs.append(torch.get_num_threads())", globals={"runs": runs}, **options)


def test_a_number_of_runs():
    before = torch.get_num_threads()
    runs, one = counting(num_threads=1, label="l")
    m = one.timeit(300)
    assert len(runs) == 303 and set(runs) == {1} and torch.get_num_threads() == before
    assert m.number_per_run == 300 and len(m.raw_times) == 1 and 0 < m.median == m.mean and m.label == "l"


def test_blocks_of_runs():
    runs, one = counting()
    seen = []
    m = one.blocked_autorange(
        callback=lambda number, seconds: seen.append((number, seconds)), min_run_time=0.01
    )
    assert sum(m.raw_times) >= 0.01 and seen == [(m.number_per_run, t) for t in m.raw_times]
    assert len(runs) >= m.number_per_run * len(m.raw_times)
    m = one.adaptive_autorange(threshold=1e9, min_run_time=0.001, max_run_time=1)
    assert len(m.raw_times) > 3


def test_code_is_tidied():
    one = Timer(
        """
        y = x + 1
        y.sum()
        """,
        "\n    x = torch.ones(3)\n",
        language="python",
    )
    assert one._task_spec.stmt == "y = x + 1\ny.sum()" and one._task_spec.setup == "x = torch.ones(3)"
    assert one.timeit(2).median > 0 and one._language is Language.PYTHON


def test_what_is_missing_says_so():
    with pytest.raises(NotImplementedError, match="C.. code"):
        Timer("1;", language="c++")
    with pytest.raises(NotImplementedError, match="valgrind --tool=callgrind"):
        Timer("1").collect_callgrind()
    with pytest.raises(AttributeError, match="^'Measurement' object has no attribute 'nothing'$"):
        Measurement(1, [1.0], TaskSpec("x", "")).nothing  # noqa: B018


def test_threads_are_put_back():
    before = torch.get_num_threads()
    with pytest.raises(KeyError):
        with set_torch_threads(1):
            assert torch.get_num_threads() == 1
            raise KeyError
    assert torch.get_num_threads() == before and timer() <= timer()


def test_measurements_of_one_task_are_merged():
    task = TaskSpec("x", "", label="l", description="d")
    m = Measurement.merge([Measurement(10, [1.0, 2.0], task), Measurement(1, [0.3], task)])
    assert len(m) == 1 and m[0].raw_times == [0.1, 0.2, 0.3] and m[0].number_per_run == 1
    other = Measurement(1, [1.0], TaskSpec("y", "", label="l"))  # without a description
    assert "s" in str(Compare([*m, other]))


def test_aliases_of_parameters():
    either = {1: 0.5, ParameterAlias("n"): 0.5}
    fuzzer = Fuzzer(
        [FuzzedParameter("n", 5, 9, "uniform"), FuzzedParameter("m", distribution=either)],
        [FuzzedTensor("x", ("n", "m"), tensor_constructor=lambda size, dtype, n, m: torch.full(size, n + m))],
        seed=0,
    )
    seen = {(p["m"] == p["n"], x["x"][0, 0].item() == p["n"] + p["m"]) for x, _, p in fuzzer.take(20)}
    assert seen == {(True, True), (False, True)}
    cycle = [FuzzedParameter(a, distribution={ParameterAlias(b): 1}) for a, b in ("ab", "ba")]
    with pytest.raises(ValueError, match="^ParameterAlias cycle detected"):
        list(Fuzzer(cycle, [], seed=0).take(1))
    with pytest.raises(AssertionError, match="^Distribution is not normalized$"):
        FuzzedParameter("x", distribution={1: 0.4})
