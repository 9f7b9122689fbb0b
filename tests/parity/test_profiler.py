"""The profiler beside PyTorch's: names and counts, tables, schedules, sums."""

import itertools
import re
import warnings

import numpy as np
import pytest

import rushlight
import rushlight.nn
import rushlight.profiler

torch = pytest.importorskip("torch")
BOTH = (rushlight, torch)


def outermost(prof):
    events = prof.function_events if hasattr(prof, "function_events") else prof.events()
    return [event.key for event in events if event.cpu_parent is None]


def same(run, **options):
    """run(t, prof) in both libraries: the names of the outermost events agree; answers both profilers."""
    profs = []
    for t in BOTH:
        t.manual_seed(0)
        calls = run(t)
        activities = [t.profiler.ProfilerActivity.CPU]
        with t.profiler.profile(activities=activities, **options) as prof:
            calls()
        profs.append(prof)
    assert outermost(profs[0]) == outermost(profs[1])
    return profs


def mlp(t):
    nn = t.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3), nn.Tanh())
    x = t.randn(5, 4)

    def calls():
        with t.profiler.record_function("forward"):
            net(x).softmax(1)
        net(x)
        with t.no_grad():
            t.sigmoid(x).exp().sum(0)

    return calls


def cnn(t):
    nn, F = t.nn, t.nn.functional
    conv, norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
    fc = nn.Linear(4 * 7 * 7, 10)
    x, y = t.randn(2, 1, 14, 14), t.tensor([1, 2])

    def calls():
        h = F.max_pool2d(F.relu(norm(conv(x))), 2)
        h = F.avg_pool2d(F.gelu(h), 1)
        F.cross_entropy(fc(h.flatten(1)), y)
        F.layer_norm(h, h.shape[1:])
        F.log_softmax(h, 1).mean()

    return calls


def arithmetic(t):
    x, y = t.randn(3, 4), t.randn(3, 4)
    integers = t.arange(3)

    def calls():
        z = x + y * 2 - 1
        z += x
        z.mul_(y).clamp_(min=0)
        t.add(x, y, out=z)
        t.cat([x, y]).view(2, 12).transpose(0, 1)
        t.stack([x, y]).permute(2, 0, 1)
        t.mm(x, y.t()), x @ y.t(), t.bmm(x[None], y.t()[None])
        x.sum(), x.mean(1), x.max(1), x.std(), x.argmax(1), x.abs(), -x, x**2, x > y
        x.sort(1), x.cumsum(0), t.where(x > 0, x, y), x.gather(1, integers[:, None]), x.masked_fill(x > 0, 0)
        t.zeros(2), t.ones(2), t.full((2,), 3.0), t.arange(4), x.clone(), x.unsqueeze(0), x.expand(3, 4)
        x.index_select(0, integers), x.squeeze(), x.split(2), x.chunk(2), x.unbind(0), x.reshape(-1)

    return calls


@pytest.mark.parametrize("run", [mlp, cnn, arithmetic])
def test_outermost_names(run):
    same(run)


def test_backward_names():
    def run(t):
        x = t.randn(3, 4)
        p = t.randn(4, 2, requires_grad=True)

        def calls():
            t.relu(x @ p * 2).sum().backward()

        return calls

    found = []
    for t in BOTH:
        calls = run(t)
        with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
            calls()
        nodes = [(e.key, e.scope, e.sequence_nr >= 0) for e in prof.events() if "Backward" in e.key]
        found.append(nodes + [e.key for e in prof.events() if "Accumulate" in e.key])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_optimizer_names(kind):
    def run(t):
        p = t.nn.Parameter(t.ones(3))
        optimizer = getattr(t.optim, kind)([p], lr=0.1)
        p.grad = t.ones(3)

        def calls():
            optimizer.step()
            optimizer.zero_grad()

        calls()
        p.grad = t.ones(3)
        return calls

    same(run)


def test_shapes_and_memory():
    def run(t):
        x, w = t.ones(20, 30), t.ones(30, 10)

        def calls():
            x + x
            t.mm(x, w)
            (x * x).sum(1)

        return calls

    def seen(prof):
        return [
            (e.key, e.input_shapes, e.structured_input_shapes, e.flops, e.cpu_memory_usage)
            for e in prof.events()
            if e.cpu_parent is None
        ]

    ours, theirs = same(run, record_shapes=True, profile_memory=True, with_flops=True)
    assert seen(ours) == seen(theirs)
    for options in ({}, {"group_by_input_shape": True}):
        tables = [prof.key_averages(**options).table(row_limit=-1) for prof in (ours, theirs)]
        assert len({table.splitlines()[1] for table in tables}) <= 2
        titles = [re.split(r"\s{2,}", table.splitlines()[1].strip()) for table in tables]
        assert titles[0] == titles[1]


def events_of(t, numbers):
    from importlib import import_module

    util = import_module(f"{t.__name__}.autograd.profiler_util")
    events = util.EventList(
        [
            util.FunctionEvent(
                id=i,
                name=f"aten::{'x' * int(n % 70)}{i % 7}",
                thread=int(n % 2),
                start_us=float(n),
                end_us=float(n + 10 ** (i % 8)),
                input_shapes=[[i, 3], []] if n % 3 else [],
                stack=["a" * 90, "b"] if n % 5 == 0 and t is not None else [],
                cpu_memory_usage=int(n) * 37 - 5000,
                flops=int(n) ** 2,
                overload_name="",
            )
            for i, n in enumerate(numbers)
        ],
        profile_memory=True,
        with_flops=False,
    )
    events._build_tree()
    return events


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort_by": "cpu_time_total", "row_limit": 5},
        {"sort_by": "self_cpu_memory_usage", "row_limit": -1},
        {"sort_by": "count", "time_unit": "ms"},
        {"header": "Title", "top_level_events_only": True, "time_unit": "s"},
        {"max_name_column_width": 20, "max_shapes_column_width": 10, "max_src_column_width": 12},
        {"max_name_column_width": None, "max_shapes_column_width": None, "max_src_column_width": None},
        {"sort_by": "self_cuda_time_total", "time_unit": "us", "row_limit": 0},
    ],
)
def test_tables_are_equal(options):
    numbers = np.random.default_rng(0).integers(0, 10**7, 60)
    ours, theirs = (events_of(t, numbers) for t in BOTH)
    assert ours.table(**options) == theirs.table(**options)
    for grouping in ((False, 0), (True, 0), (True, 2)):
        tables = [events.key_averages(*grouping).table(**options) for events in (ours, theirs)]
        assert tables[0] == tables[1]
    assert repr(ours.total_average()) == repr(theirs.total_average())
    assert repr(ours[3]) == repr(theirs[3])


def test_schedules_are_equal():
    cases = itertools.product((0, 1, 3), (0, 1, 2), (1, 2), (0, 1, 2), (0, 2), (0, 1))
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            plans = [t.profiler.schedule(**dict(zip(names, case, strict=True))) for t in BOTH]
            answers = [[plan(step).name for step in range(25)] for plan in plans]
            assert answers[0] == answers[1], case


@pytest.mark.parametrize("answers", ["NWRS", "NRRN", "WWNN", "SSSS", "NSNS", "WRSW", "RRRR", "SWSR"])
def test_steps_are_equal(answers):
    """What is warned of and handed out, whatever a schedule answers."""
    names = {"N": "NONE", "W": "WARMUP", "R": "RECORD", "S": "RECORD_AND_SAVE"}
    seen = []
    for t in BOTH:
        log, x = [], t.ones(1)

        def plan(step, t=t):
            return t.profiler.ProfilerAction[names[answers[step % 4]]]

        def ready(prof, log=log):
            log.append([e.name for e in prof.events() if e.cpu_parent is None])

        activities = [t.profiler.ProfilerActivity.CPU]
        options = {"activities": activities, "on_trace_ready": ready, "acc_events": True}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with t.profiler.profile(schedule=plan, **options) as prof:
                for _ in range(6):
                    x + x
                    prof.step()
        log += [str(each.message) for each in caught], prof.step_num, prof.current_action.name
        seen.append(log)
    assert seen[0] == seen[1]


def test_names_that_are_there():
    for ours, theirs in (
        (rushlight.profiler, torch.profiler),
        (rushlight.autograd.profiler, torch.autograd.profiler),
        (rushlight.autograd.profiler_util, torch.autograd.profiler_util),
    ):
        missing = {name for name in theirs.__all__ if not hasattr(ours, name)}
        assert missing <= {"ExecutionTraceObserver", "EventMetadata"}
    for kind in ("DeviceType", "ProfilerActivity", "RecordScope"):
        members = [
            {name: (each.value, repr(each)) for name, each in getattr(t.profiler, kind).__members__.items()}
            for t in BOTH
        ]
        assert members[0] == members[1]
