"""torch.profiler's classes and functions: steps and schedules, tables, traces, stacks."""

import gzip
import json
import pathlib
import re

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.autograd import profiler as autograd_profiler
from rushlight.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    MemRecordsAcc,
    _format_memory,
    _format_time,
    _format_time_share,
)
from rushlight.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

# said once in a process
pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


def run(**options):
    x = torch.ones(20, 30)
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        with record_function("block"):
            y = x + 1
            y = y + 1
        y.sum()
    return prof


# ---- steps ----
def steps(n, **options):
    """What a profiler with a schedule hands out: the names of each trace."""
    traces = []

    def ready(prof):
        traces.append([(event.name, event.trace_name) for event in prof.events()])

    x = torch.ones(1)
    with profile(on_trace_ready=ready, **options) as prof:
        for _ in range(n):
            x + 1
            prof.step()
    return prof, traces


def test_schedule():
    prof, traces = steps(9, schedule=schedule(wait=1, warmup=1, active=2, repeat=2))
    step = [("ProfilerStep*", "ProfilerStep#2"), ("aten::add", "aten::add")]
    assert traces[0] == [*step, ("ProfilerStep*", "ProfilerStep#3"), ("aten::add", "aten::add")]
    assert [len(trace) for trace in traces] == [4, 4]
    assert prof.step_num == 9 and prof.current_action is ProfilerAction.NONE
    assert "ProfilerStep*" in prof.key_averages().table()


def test_no_schedule_records_everything():
    prof, traces = steps(3)
    assert traces == [[("aten::add", "aten::add")] * 3]
    assert prof.step_rec_fn is None


def test_events_are_kept_on_request():
    plan = schedule(wait=0, warmup=1, active=1)
    assert [len(trace) for trace in steps(6, schedule=plan)[1]] == [2, 2, 2]
    assert [len(trace) for trace in steps(6, schedule=plan, acc_events=True)[1]] == [2, 4, 6]


def test_events_that_go_are_spoken_of_once(monkeypatch):
    monkeypatch.setattr(torch.profiler.profiler, "_WARNINGS_SHOWN", set())
    with pytest.warns(UserWarning, match="Profiler clears events") as caught:
        steps(9, schedule=schedule(wait=0, warmup=1, active=1))
    assert len(caught) == 1


def test_stop_and_start():
    x, prof = torch.ones(1), profile(acc_events=True)
    prof.start()
    x + 1
    prof.stop()
    x * 2
    prof.start()
    x - 1
    prof.stop()
    assert [event.name for event in prof.events()] == ["aten::sub", "aten::add"]


@pytest.mark.parametrize(
    ("answers", "warning"),
    [
        ("WN", "Incorrect schedule: WARMUP followed by NONE"),
        ("RN", "Incorrect schedule: RECORD followed by NONE"),
        ("RW", "Incorrect schedule: RECORD followed by WARMUP"),
    ],
)
def test_schedules_that_make_no_sense(answers, warning):
    actions = {"N": ProfilerAction.NONE, "W": ProfilerAction.WARMUP, "R": ProfilerAction.RECORD}
    prof = profile(schedule=lambda step: actions[answers[min(step, 1)]])
    prof.start()
    with pytest.warns(UserWarning, match=warning):
        prof.step()
    prof.current_action = ProfilerAction.NONE
    prof.stop()


def test_schedules_that_are_refused():
    def stopped(step):
        return ProfilerAction.DEVICE_STOPPED if step else ProfilerAction.NONE

    with pytest.raises(ValueError, match="must not be returned by a user-provided schedule"):
        profile(schedule=lambda step: stopped(1))
    prof = profile(schedule=stopped)
    with pytest.raises(ValueError, match="must not be returned by a user-provided schedule"):
        prof.step()
    assert prof.step_num == 0
    with pytest.raises(AssertionError, match=r"Got wait=1 .* active=0 \(need > 0\)"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match="Step must be non-negative. Got -1."):
        schedule(wait=1, warmup=1, active=1)(-1)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=1, warmup=0, active=1)


# ---- mistakes ----
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.key_averages(), "getting key averages"),
        (lambda p: p.events(), "accessing events"),
        (lambda p: p.export_chrome_trace("x"), "exporting chrome trace"),
        (lambda p: p.export_stacks("x"), "exporting stacks"),
    ],
)
def test_nothing_was_recorded(call, message):
    with pytest.raises(AssertionError, match="Profiler must be initialized before " + message):
        call(profile())


def test_activities():
    assert torch.profiler.supported_activities() == {ProfilerActivity.CPU}
    assert torch.autograd.kineto_available() and torch.autograd.ProfilerActivity is ProfilerActivity
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(ValueError, match="Activity ProfilerActivity.CPU specified more than once"):
        profile(activities=[ProfilerActivity.CPU, {ProfilerActivity.CPU: []}])
    with pytest.raises(TypeError, match="Expected ProfilerActivity or dict"):
        profile(activities=[ProfilerActivity.CPU, 3])
    with pytest.raises(AssertionError, match="No activities specified for the profiler"):
        profile(activities=[ProfilerActivity.PrivateUse1]).start()


def test_gpus():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            torch.ones(1)
    averages = prof.key_averages()
    assert "CUDA" not in averages.table(sort_by="self_cuda_time_total")
    with pytest.warns(FutureWarning, match=r"`cuda_time_total` is deprecated\. Use `device_time_total`"):
        assert prof.events()[0].cuda_time_total == 0
    with pytest.warns(FutureWarning, match="`cuda_time` is deprecated"):
        assert averages[0].cuda_time == 0


def test_options_of_the_lower_profiler():
    with pytest.raises(AssertionError, match="Device-only events"):
        autograd_profiler.profile(use_cpu=False)
    with pytest.raises(ValueError, match="must be non-negative"):
        autograd_profiler.profile(post_processing_timeout_s=-1)
    with pytest.warns(UserWarning, match="not a valid device option"):
        assert autograd_profiler.profile(use_device="abc").use_device is None
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        autograd_profiler.profile(use_device="cuda")
    assert repr(autograd_profiler.profile()) == "<unfinished torch.autograd.profile>"
    assert autograd_profiler.profile(with_flops=True).record_shapes


def test_other_profilers():
    with autograd_profiler.emit_itt() as on:
        torch.ones(1)
    with pytest.raises(RuntimeError, match="ITT annotation context manager is not reentrant"):
        on.__enter__()
    with autograd_profiler.emit_nvtx(enabled=False) as off:
        assert off is None
    with pytest.raises(AssertionError, match="not compiled with CUDA"), autograd_profiler.emit_nvtx():
        pass
    with pytest.raises(NotImplementedError):
        autograd_profiler.load_nvprof("x")
    with pytest.raises(RuntimeError, match="Expected a value of type 'str' for argument 'name'"):
        record_function(3).__enter__()
    with pytest.raises(AssertionError, match="Expected record to be set"):
        record_function("a").__exit__(None, None, None)


# ---- sums and tables ----
def test_key_averages():
    prof = run(record_shapes=True)
    by = {event.key: event for event in prof.key_averages()}
    assert set(by) == {"block", "aten::add", "aten::sum"}
    add = by["aten::add"]
    assert isinstance(add, FunctionEventAvg) and add.count == 2 and add.input_shapes == ""
    assert add.cpu_time == pytest.approx(add.cpu_time_total / 2) and add.cpu_time_str.endswith("us")
    assert by["block"].self_cpu_time_total == pytest.approx(by["block"].cpu_time_total - add.cpu_time_total)
    shaped = [(e.key, e.input_shapes) for e in prof.key_averages(group_by_input_shape=True)]
    assert ("aten::add", [[20, 30], [], []]) in shaped
    total = prof.events().total_average()
    assert total.key == "Total" and total.count == 4 and repr(total).startswith("<FunctionEventAvg key=Total")
    with pytest.raises(AssertionError, match="Expected keys to match"):
        add.add(by["block"])
    with pytest.raises(AssertionError, match="Expected other to be"):
        add.add(3)
    with pytest.raises(AssertionError, match="Expected tree to be built"):
        EventList().key_averages()


def test_table():
    lines = run().key_averages().table(sort_by="cpu_time_total", row_limit=2).splitlines()
    assert lines[0] == lines[2] == lines[-2]
    assert lines[0] == "-" * 13 + "  " + ("-" * 12 + "  ") * 6
    assert lines[1] == (
        f"{'Name':>13}  "
        + "".join(f"{title:>12}  " for title in ("Self CPU %", "Self CPU", "CPU total %", "CPU total"))
        + f"{'CPU time avg':>12}  {'# of Calls':>12}  "
    )
    assert len(lines) == 7 and lines[3].split()[0] == "block" and lines[4].split()[0].startswith("aten::")
    assert re.fullmatch(r"Self CPU time total: \d+\.\d{3}(us|ms|s)", lines[-1])


def test_columns_of_tables():
    prof = run(record_shapes=True, profile_memory=True, with_flops=True)
    titles = re.split(r"\s{2,}", prof.key_averages(group_by_input_shape=True).table().splitlines()[1].strip())
    assert titles == [
        *("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"),
        *("CPU Mem", "Self CPU Mem", "# of Calls", "Input Shapes", "Total KFLOPs"),
    ]
    rows = {line.split()[0]: line for line in prof.key_averages().table().splitlines()[3:-2]}
    assert " 4.69 KB" in rows["aten::add"] and rows["aten::add"].split()[-1] == "1.200"
    assert rows["block"].split()[-1] == "--"


def test_options_of_tables():
    events = run().events()
    text = events.table(header="A header", top_level_events_only=True, time_unit="ms", row_limit=-1)
    lines = text.splitlines()
    assert lines[0] == lines[2] == "=" * (len(lines[4]) - 2)
    assert lines[1] == "A header" and lines[3] == "This report only display top-level ops statistics"
    assert [line.split()[0] for line in lines[7:-2]] == ["block", "aten::sum"]
    assert all(line.split()[2].endswith("ms") for line in lines[7:-2])
    assert str(events) == events.table() and EventList().table() == ""
    cut = events.table(max_name_column_width=10).splitlines()[4]
    assert cut.startswith("aten::a...")
    with pytest.raises(AttributeError):
        events.table(sort_by="nothing")


def test_texts_of_numbers():
    assert [_format_time(t) for t in (0, 999.9994, 1e3, 1e6)] == ["0.000us", "999.999us", "1.000ms", "1.000s"]
    sizes = [_format_memory(n) for n in (0, -1023, 1024, -(2**20), 3 * 2**30)]
    assert sizes == ["0 B", "-1023 B", "1.00 KB", "-1.00 MB", "3.00 GB"]
    assert _format_time_share(1, 3) == "33.33%" and _format_time_share(0, 0) == "NaN"
    with pytest.raises(AssertionError, match="Expected time_us == 0 but got 1"):
        _format_time_share(1, 0)


# ---- lists that somebody else makes ----
def event(name, start, end, **options):
    return FunctionEvent(id=0, name=name, thread=1, start_us=start, end_us=end, **options)


def test_tree():
    a, b, c, d = event("a", 0, 10), event("b", 0, 4), event("c", 4, 10), event("d", 5, 12)
    events = EventList([a, b, c, d])
    events._build_tree()
    assert (a.cpu_children, b.cpu_parent, c.cpu_parent) == ([b, c], a, a)
    assert d.cpu_parent is None and a.self_cpu_time_total == 0


def test_repeated_names_are_one_event():
    events = EventList([event("a", 0, 10), event("a", 1, 9), event("a", 2, 8), event("b", 3, 4)])
    events._build_tree()
    assert [e.name for e in events] == ["a", "b"] and events[1].cpu_parent is events[0]
    assert events[0].self_cpu_time_total == 9


def test_memory_records_by_time():
    class Record:
        def __init__(self, time):
            self.start_ns = lambda: time

    records = [(Record(time), False) for time in (5, 1, 3)]
    found = MemRecordsAcc(records).in_interval(1, 3)
    assert [record.start_ns() for record, _ in found] == [1, 3]
    assert list(MemRecordsAcc([]).in_interval(0, 9)) == []


# ---- traces ----
def trace_of(prof, path):
    prof.export_chrome_trace(str(path))
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return json.load(file)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_trace(tmp_path, name):
    x = torch.ones(2, 3, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as prof:
        prof.add_metadata("who", 'a "name"')
        with record_function('block "\u00fc"\n'):
            (x * 2).sum().backward()
    trace = trace_of(prof, tmp_path / name)
    assert trace["who"] == 'a "name"' and trace["record_shapes"] == 1 and trace["displayTimeUnit"] == "ms"
    assert trace["trace_id"] == prof.get_trace_id()
    spans = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    block, mul = spans['block "\u00fc"\n'], spans["aten::mul"]
    assert block["cat"] == "user_annotation" and mul["cat"] == "cpu_op"
    assert mul["args"]["Input Dims"] == [[2, 3], []] and mul["args"]["Input type"] == ["float", "Scalar"]
    assert mul["args"]["Concrete Inputs"] == ["", "2"]
    assert block["ts"] <= mul["ts"] and mul["ts"] + mul["dur"] <= block["ts"] + block["dur"]
    assert (mul["pid"], mul["tid"]) == (block["pid"], block["tid"])
    arrows = [e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"]
    assert [e["ph"] for e in arrows] == ["s", "f"] * 2 and all(e["id"] >= 0 for e in arrows)
    bytes_ = [e["args"]["Bytes"] for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert bytes_[0] == 24 and min(bytes_) < 0
    assert 0 <= mul["ts"] < 10**12


def test_trace_of_nothing(tmp_path):
    with profile() as prof:
        pass
    assert [e["ph"] for e in trace_of(prof, tmp_path / "empty.json")["traceEvents"]] == ["M", "M", "X"]
    assert prof.key_averages().table() == ""


def test_trace_of_a_list(tmp_path):
    events = run().events()
    events.export_chrome_trace(tmp_path / "list.json")
    found = json.loads((tmp_path / "list.json").read_text())
    assert [e["name"] for e in found] == ["block", "aten::add", "aten::add", "aten::sum"]
    assert all(e["ph"] == "X" and e["pid"] == "CPU functions" for e in found)


@pytest.mark.parametrize("use_gzip", [False, True])
def test_trace_handler(tmp_path, use_gzip):
    home = tmp_path / "a" / "b"
    handler = tensorboard_trace_handler(str(home), worker_name="me", use_gzip=use_gzip)
    x = torch.ones(1)
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
        for _ in range(4):
            x + 1
            prof.step()
    files = sorted(home.iterdir())
    assert len(files) == 2
    pattern = r"me\.\d+\.pt\.trace\.json" + (r"\.gz" if use_gzip else "")
    assert all(re.fullmatch(pattern, file.name) for file in files)
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory: "):
        tensorboard_trace_handler(str(tmp_path / "file" / "x"))(prof)


# ---- stacks ----
def inner(x):
    return nn.functional.relu(x)


def outer(x):
    return inner(x).sum()


def test_stacks(tmp_path):
    net, x = nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2)
    with profile(with_stack=True) as prof:
        outer(net(x)).backward()
    of = {event.name: event for event in reversed(prof.events())}
    here = pathlib.Path(__file__).name
    relu = [entry for entry in of["aten::relu"].stack if here in entry]
    assert [entry.rpartition(" ")[2] for entry in relu] == ["inner", "outer", "test_stacks"]
    assert re.search(rf"{here}\(\d+\): inner$", relu[0])
    assert "nn.Module: Linear_0" in of["aten::linear"].stack
    assert of["nn.Module: Linear_0"].is_python_function
    assert of["ReluBackward0"].stack == of["aten::relu"].stack, "the stack of the forward call"
    averages = prof.key_averages(group_by_stack_n=2)
    assert all(len(event.stack) <= 2 for event in averages)
    assert "Source Location" in averages.table() and "inner" in averages.table(row_limit=-1)
    prof.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines and all(re.fullmatch(r"\S+ [1-9]\d*", line) for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(tmp_path / "stacks"), "count")
    spans = trace_of(prof, tmp_path / "trace.json")["traceEvents"]
    assert any(e.get("cat") == "python_function" and "inner" in e["name"] for e in spans)


def test_stacks_need_to_be_recorded():
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        run().export_stacks("x")


def test_exceptions_and_generators_on_the_stack():
    def numbers():
        yield torch.ones(1)
        raise KeyError

    def caught():
        with pytest.raises(KeyError):
            list(numbers())

    with profile(with_stack=True) as prof:
        caught()
        with pytest.raises(ZeroDivisionError):
            divmod(1, 0)
        torch.zeros(1)
    zeros = next(event for event in prof.events() if event.name == "aten::zeros")
    assert [entry.rpartition(" ")[2] for entry in zeros.stack if "(" in entry and "): " in entry][0] == (
        "test_exceptions_and_generators_on_the_stack"
    )
    one = next(event for event in prof.events() if event.name == "aten::ones")
    assert any(entry.endswith(": numbers") for entry in one.stack)
    assert any(entry.endswith(": caught") for entry in one.stack)


def test_steps_are_counted():
    tracker = autograd_profiler.KinetoStepTracker
    start = tracker.current_step()
    tracker.init_step_count("a")
    assert tracker.increment_step("a") == start + 1 and tracker.increment_step("b") == start + 2
    assert tracker.erase_step_count("a") and not tracker.erase_step_count("a")
    tracker.erase_step_count("b")
    unique = autograd_profiler.EnforceUnique()
    unique.see(1, 2)
    with pytest.raises(RuntimeError, match="duplicate key"):
        unique.see(1, 2)
