"""torch.utils.benchmark beside real PyTorch's: texts of measurements, tables, drawn tensors, errors."""

import random
import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.benchmark")

import rushlight  # noqa: E402


def measurement(library, stmt="x + 1", setup="pass", n=5, base=1e-6, spread=0.02, runs=10, **names):
    b = library.utils.benchmark
    times = [base * runs * (1 + spread * random.random()) for _ in range(n)]
    return b.Measurement(runs, times, b.TaskSpec(stmt, setup, **names))


def measurements(library):
    random.seed(1)
    return [
        measurement(library),
        measurement(library, "a\nb", "c\nd", sub_label="s"),
        measurement(library, setup="import x", description="d", label="L", sub_label="sl", num_threads=3),
        measurement(library, n=1),
        measurement(library, n=3, spread=0.5),
        measurement(library, n=9, spread=0.6, base=3e-3),
        measurement(library, n=9, spread=2, base=3, label="L"),
    ]


def told(library):
    for m in measurements(library):
        yield re.sub("<.*>", "", repr(m)).splitlines()
        yield m.title, m.as_row_name, m.significant_figures, m.has_warnings, m.meets_confidence(0.2)
        yield round(m.mean / m.median, 7), round(m.iqr / m.median, 7), m.stmt, m.num_threads, m.label


def test_measurements():
    assert list(told(rushlight)) == list(told(torch))


OPTIONS = {
    "plain": lambda table: None,
    "trimmed": lambda table: table.trim_significant_figures(),
    "columns": lambda table: table.colorize(),
    "rows": lambda table: table.colorize(rowwise=True),
    "warnings": lambda table: table.highlight_warnings(),
}


def table(library, option):
    random.seed(2)
    results = [
        measurement(
            library,
            base=base * threads * 10**power,
            spread=spread,
            label="add",
            sub_label=f"size {power}",
            description=name,
            num_threads=threads,
            env=env,
        )
        for power in (-6, -5, -4)
        for threads in (1, 2)
        for name, base in (("old", 3.0), ("newer", 1.1))
        for env, spread in (("A", 0.01), ("branch", 0.9))
        if (power, name) != (-5, "old")
    ]
    made = library.utils.benchmark.Compare(results + results[:2])
    made.extend_results([measurement(library, label="mul", description="z")])
    OPTIONS[option](made)
    return str(made).splitlines()


@pytest.mark.parametrize("option", OPTIONS)
def test_tables(option):
    assert table(rushlight, option) == table(torch, option)


def drawn(library):
    b = library.utils.benchmark
    fuzzer = b.Fuzzer(
        [
            b.FuzzedParameter("n", 2, 64, "loguniform"),
            b.FuzzedParameter("k", 1, 5, "uniform", strict=True),
            b.FuzzedParameter("d", 1, 3, "uniform"),
            b.FuzzedParameter("f", 1.0, 3, "uniform"),
        ],
        [
            b.FuzzedTensor("x", ("n", 3, "k"), steps=(1, "k"), dim_parameter="d", max_elements=100),
            [b.FuzzedTensor("y", ("n", "k"), dtype=library.int64, min_elements=9)],
        ],
        constraints=[lambda params: params["n"] != 20],
        seed=3,
    )
    for tensors, properties, params in fuzzer.take(8):
        yield params
        for name, tensor in tensors.items():
            yield tensor.stride(), tensor.tolist(), str(tensor.dtype)
            yield {**properties[name], "order": [int(dim) for dim in properties[name]["order"]]}
    yield fuzzer.rejection_rate


def test_drawn_tensors():
    assert list(drawn(rushlight)) == list(drawn(torch))


MISTAKES = {
    "same name": lambda b, t: b.Fuzzer(
        [b.FuzzedParameter("x", 1, 2, "uniform")], [b.FuzzedTensor("x", (1,))]
    ),
    "distribution": lambda b, t: b.FuzzedParameter("x", 1, 2, "foo"),
    "negative": lambda b, t: b.FuzzedParameter("x", distribution={1: -1}),
    "impossible": lambda b, t: list(b.Fuzzer([], [], constraints=[lambda p: False], seed=1).take(1)),
    "no measurement": lambda b, t: b.Compare([1]),
    "no text": lambda b, t: b.Timer(3),
    "language": lambda b, t: b.Timer("x", language="z"),
    "global setup": lambda b, t: b.Timer("x", global_setup="z"),
    "repeat": lambda b, t: b.Timer("x").repeat(),
    "autorange": lambda b, t: b.Timer("x").autorange(),
    "undefined": lambda b, t: b.Timer("nothing").timeit(2),
    "digits": lambda b, t: b.trim_sigfig(3.0, 1.5),
    "unit": lambda b, t: [b.select_unit(x) for x in (1e-9, 5e-7, 1e-6, 0.2, 5.0)],
    "words": lambda b, t: [b.unit_to_english(x) for x in ("ns", "us", "ms", "s")],
    "unique": lambda b, t: b.ordered_unique([3, 1, 3, 2]),
}


def outcome(library, name):
    try:
        return MISTAKES[name](library.utils.benchmark, library)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_and_units(name):
    assert outcome(rushlight, name) == outcome(torch, name)
