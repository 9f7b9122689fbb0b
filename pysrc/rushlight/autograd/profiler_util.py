"""Events that a profiler recorded, lists of them and their averages.

See https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict, namedtuple
from warnings import warn

from rushlight import _missing
from rushlight._profiling.kinds import DeviceType

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


__getattr__ = _missing.module_getattr(__name__)

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"
_BACKWARD = 1  # RecordScope.BACKWARD_FUNCTION

Kernel = namedtuple("Kernel", ["name", "device", "duration"])


class Interval:
    """From one time to another, in microseconds."""

    def __init__(self, start, end) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self):
        """Return how long it is."""
        return self.end - self.start


def _as_text(name):
    return property(lambda self: _format_time(getattr(self, name)))


def _deprecated(name, instead=". Use"):
    """The name that an attribute had when GPUs were CUDA's."""
    old = name.replace("device", "cuda")

    def get(self):
        warn(f"`{old}` is deprecated{instead} `{name}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, name)

    return property(get)


class FormattedTimesMixin:
    """Times as texts, and averages over ``count`` calls."""

    cpu_time_str = _as_text("cpu_time")
    device_time_str = _as_text("device_time")
    cpu_time_total_str = _as_text("cpu_time_total")
    device_time_total_str = _as_text("device_time_total")
    self_cpu_time_total_str = _as_text("self_cpu_time_total")
    self_device_time_total_str = _as_text("self_device_time_total")
    cuda_time = _deprecated("device_time", ", please use")

    @property
    def cpu_time(self):
        """The time of one call on the average, in microseconds."""
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self):
        """The same on a GPU; 0 here."""
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count


class FunctionEvent(FormattedTimesMixin):
    """One call that was recorded: an operator, a node of a backward pass, a block with a name.

    Times are microseconds since the profiler began. ``cpu_children`` are the calls that it made,
    ``cpu_parent`` the one that made it; ``input_shapes`` the sizes of its tensors (``record_shapes=True``),
    ``cpu_memory_usage`` the bytes of tensors that it left (``profile_memory=True``), ``stack`` the Python
    functions that led to it (``with_stack=True``).

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.profiler_util.FunctionEvent
    """

    is_legacy = is_remote = False
    use_device = None
    device_type = DeviceType.CPU
    device_memory_usage = self_device_memory_usage = 0
    device_time_total = self_device_time_total = 0
    cuda_time_total = _deprecated("device_time_total")
    self_cuda_time_total = _deprecated("self_device_time_total")
    self_cuda_memory_usage = _deprecated("self_device_memory_usage")

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        cpu_memory_usage=0,
        is_async=False,
        sequence_nr=-1,
        node_id=-1,
        device_index=0,
        flops=None,
        trace_name=None,
        concrete_inputs=None,
        kwinputs=None,
        is_user_annotation=False,
        is_python_function=False,
        activity_type=None,
        structured_input_shapes=None,
        input_dtypes=None,
    ) -> None:
        self.id, self.node_id, self.name = id, node_id, name
        self.overload_name, self.trace_name = overload_name, trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.fwd_thread, self.device_resource_id = thread, fwd_thread, thread
        self.kernels, self.cpu_children, self.cpu_parent = [], [], None
        self.count = 1
        self.input_shapes, self.structured_input_shapes = input_shapes, structured_input_shapes
        self.input_dtypes, self.concrete_inputs, self.kwinputs = input_dtypes, concrete_inputs, kwinputs
        self.stack, self.scope, self.sequence_nr = stack, scope, sequence_nr
        self.cpu_memory_usage, self.flops = cpu_memory_usage, flops
        self.is_async, self.device_index = is_async, device_index
        self.is_user_annotation, self.is_python_function = is_user_annotation, is_python_function
        self.activity_type = activity_type

    def append_cpu_child(self, child) -> None:
        """Add a call that this one made itself."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent) -> None:
        """Say which call made this one."""
        self.cpu_parent = parent

    @property
    def key(self):
        """What calls are averaged by."""
        return self.name

    @property
    def cpu_time_total(self):
        """Its time, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        """Its time without that of its children."""
        if self.is_async:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        """The bytes that it left without those of its children."""
        if self.is_async:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {self.use_device}_time="
            f"{self.device_time_str} name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {self.use_device}_memory_usage="
            f"{self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


_TAKEN_OVER = (  # from the first event of an average
    *("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name"),
    *("input_shapes", "stack", "scope", "device_type", "is_legacy", "use_device", "is_user_annotation"),
)
_ADDED = (
    *("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total"),
    *("cpu_memory_usage", "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage"),
    "count",
)


class FunctionEventAvg(FormattedTimesMixin):
    """Sums over the events of one key; ``cpu_time`` is their average.

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.profiler_util.FunctionEventAvg
    """

    def __init__(self) -> None:
        for name in _TAKEN_OVER:
            setattr(self, name, None)
        for name in _ADDED:
            setattr(self, name, 0)
        self.node_id, self.device_type, self.flops = 0, DeviceType.CPU, 0
        self.is_async = self.is_remote = self.is_legacy = False

    def add(self, other):
        """Count another event, or average, of the same key."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in _TAKEN_OVER:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.flops is not None:
            self.flops = (self.flops or 0) + other.flops
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """A list of events: of calls in the order in which they began, or of averages.

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.profiler_util.EventList
    """

    def __init__(self, *args, use_device=None, profile_memory=False, with_flops=False) -> None:
        super().__init__(*args)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    # ---- who called whom ----
    def _build_tree(self):
        self._find_parents()
        self._join_repeated()
        self._find_forward_stacks()
        self._tree_built = True

    def _find_parents(self):
        """Of two events of a thread one made the other where it lies within it."""
        open_of = defaultdict(list)
        for event in sorted(
            (e for e in self if not e.is_async), key=lambda e: (e.time_range.start, -e.time_range.end)
        ):
            around = open_of[event.thread, event.node_id]
            time = event.time_range
            while around and (
                time.start >= around[-1].time_range.end or time.end > around[-1].time_range.end
            ):
                around.pop()
            if around:
                around[-1].append_cpu_child(event)
                event.set_cpu_parent(around[-1])
            around.append(event)

    def _join_repeated(self):
        """An event with one child of its own name stands for both."""
        joined = set()
        for event in self:
            while len(event.cpu_children) == 1 and event.cpu_children[0].name == event.name:
                child = event.cpu_children[0]
                event.cpu_children, event.kernels = child.cpu_children, child.kernels
                for each in child.cpu_children:
                    each.set_cpu_parent(event)
                child.cpu_children = []
                joined.add(id(child))
        if joined:
            self[:] = [event for event in self if id(event) not in joined]

    def _find_forward_stacks(self):
        """What runs backward shows the stack of the call that it is the derivative of."""
        backward, stacks = {}, {}
        for event in self:
            parent = event.cpu_parent
            backward[id(event)] = event if event.scope == _BACKWARD else backward.get(id(parent))
            if backward[id(event)] is None and event.stack is not None:
                stacks.setdefault((event.sequence_nr, event.thread), event.stack)
        for event in self:
            node = backward[id(event)]
            if node is not None:
                event.stack = stacks.get((node.sequence_nr, node.fwd_thread), [])

    # ---- sums ----
    @property
    def self_cpu_time_total(self):
        """The time of all events, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Return an EventList of FunctionEventAvg: one for each key, and on request for each kind of input
        shapes and for the innermost functions of the stack."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        averages = defaultdict(FunctionEventAvg)
        for event in self:
            key = (event.key, event.node_id, event.is_user_annotation)
            key += (event.overload_name,) if group_by_overload_name else ()
            key += (str(event.input_shapes),) if group_by_input_shapes else ()
            key += tuple(event.stack[:group_by_stack_n]) if group_by_stack_n > 0 else ()
            averages[key].add(event)
        found = EventList(
            averages.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in found:
            average.stack = (average.stack or [])[:group_by_stack_n]
            average.input_shapes = average.input_shapes if group_by_input_shapes else ""
            average.overload_name = average.overload_name if group_by_overload_name else ""
        return found

    def total_average(self):
        """Return one FunctionEventAvg with the key ``Total``: the sums over all events."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total

    # ---- texts and files ----
    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """Return the events as a table.

        Parameters
        ----------
        sort_by : str, optional
            An attribute of the events, the largest first: ``"cpu_time_total"``, ``"self_cpu_time_total"``,
            ``"cpu_time"``, ``"count"``, ``"self_cpu_memory_usage"`` ... As they were recorded without.
        row_limit : int
            How many rows there may be; -1 shows all.
        header : str, optional
            A line to stand above the table.
        top_level_events_only : bool
            Without the calls that other calls made.
        time_unit : str, optional
            ``"s"``, ``"ms"`` or ``"us"`` for all times; without it each has the unit that suits.
        """
        return _build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path) -> None:
        """Write the events alone to a file that chrome://tracing and Perfetto open."""
        from rushlight._profiling import chrome

        chrome.write_events(self, path)

    def supported_export_stacks_metrics(self):
        """Return what export_stacks() can count."""
        return [f"self_{device}_time_total" for device in ("cpu", "cuda", "xpu", "privateuse1")]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write stacks and their times, a line for each event: what flame graphs are drawn from."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        name = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        plain = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, name))
                if event.stack and value > 0:
                    stack = ";".join(entry.translate(plain) for entry in reversed(event.stack))
                    file.write(f"{stack} {value}\n")


class StringTable(defaultdict):
    """Names as they are shown; PyTorch demangles C++ names here."""

    def __missing__(self, key):
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds records ``(event, seen)`` by the time of their event."""

    def __init__(self, mem_records) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._starts = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns, end_ns):
        """Yield the records between two times, both included."""
        yield from self._records[bisect_left(self._starts, start_ns) : bisect_right(self._starts, end_ns)]


# ---- the table that a list of events prints, with PyTorch's columns and widths ----
_COLUMN = 12  # characters of a column of numbers
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


# ---- numbers as texts ----
def _format_time(time_us):
    """Write microseconds with the unit that suits."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_time_share(time_us, total_time_us):
    """Write a part of a time in per cent."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes):
    """Write bytes with the unit that suits."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024**power:
            return f"{nbytes / 1024**power:.2f} {unit}"
    return f"{nbytes} B"


def _in_unit(time_us, unit):
    scale = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(unit)
    return _format_time(time_us) if scale is None else f"{time_us / scale:.3f}{unit}"


def _cut(text, width):
    """Cut a name that would fill its column."""
    return text[: width - 3] + "..." if width is not None and len(text) >= width - 3 else text


def _tail(path, width):
    """Cut the front of a source location that is too long."""
    return path if len(path) <= width else "..."[:width] + path[len(path) - width + 3 :]


def _width(texts, most):
    widest = max(map(len, texts)) + 4
    return widest if most is None else min(widest, most)


# ---- columns: (title, width, direction, what a row shows) ----
class _Columns:
    def __init__(self) -> None:
        self.titles, self.formats, self.widths, self.values = [], [], [], []

    def add(self, title, value, width=_COLUMN, direction=">"):
        self.titles.append(title)
        self.formats.append(f"{{: {direction}{width}}}  ")
        self.widths.append(width)
        self.values.append(value)

    def line(self, texts):
        return "".join(f.format(t) for f, t in zip(self.formats, texts, strict=True)) + "\n"

    @property
    def rule(self):
        return "".join("-" * width + "  " for width in self.widths) + "\n"

    @property
    def length(self):
        return sum(self.widths) + 2 * (len(self.widths) - 1)


def _add_times(columns, total, unit):
    def share(time):
        none = time == "cpu_time_total"  # of events that another thread ended
        return lambda e: 0 if none and e.is_async else _format_time_share(getattr(e, time), total)

    def show(time):
        return lambda e: _in_unit(getattr(e, time), unit)

    columns.add("Self CPU %", share("self_cpu_time_total"))
    columns.add("Self CPU", show("self_cpu_time_total"))
    columns.add("CPU total %", share("cpu_time_total"))
    columns.add("CPU total", show("cpu_time_total"))
    columns.add("CPU time avg", show("cpu_time"))


def _add_flops(columns, events):
    """What was computed, in a unit in which the least of them can be read."""
    known = [e.flops for e in events if e.flops and e.flops > 0]
    if not known:
        return
    power = int(max(0, min(math.log10(min(known)) / 3, len(_FLOPS) - 1)))
    scale = 10.0 ** (-3 * power)
    columns.add(
        f"Total {_FLOPS[power]}", lambda e: f"{e.flops * scale:8.3f}" if e.flops and e.flops > 0 else "--"
    )


def _columns(events, total, options):
    """The columns that these events fill, and the width of their stacks (None: there are none)."""
    columns, most = _Columns(), options["max_name_column_width"]
    wide = _width([e.key for e in events], most)
    columns.add("Name", lambda e: _cut(e.key, most), wide)
    if any(e.overload_name for e in events):
        columns.add("Overload Name", lambda e: _cut(e.overload_name or "", most), wide)
    _add_times(columns, total, options["time_unit"])
    if options["profile_memory"]:
        columns.add("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage))
        columns.add("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage))
    columns.add("# of Calls", lambda e: e.count)
    if any(e.node_id != -1 for e in events):
        columns.add("Node ID", lambda e: e.node_id)
    if any(e.input_shapes for e in events):
        shapes = _width([str(e.input_shapes) for e in events], options["max_shapes_column_width"])
        columns.add("Input Shapes", lambda e: str(e.input_shapes)[:shapes], shapes)
    stacks = [entry for e in events for entry in e.stack or ()]
    places = _width(stacks, options["max_src_column_width"]) if stacks else None
    if stacks:
        columns.add("Source Location", lambda e: _tail(e.stack[0], places) if e.stack else "", places, "<")
    if options["with_flops"]:
        _add_flops(columns, events)
    return columns, places


def _rest_of_stack(columns, event, width):
    """The lines of a row's stack below the first, and an empty one."""
    at = columns.titles.index("Source Location")
    for entry in [*(event.stack or ())[1:], ""]:
        row = [""] * len(columns.titles)
        row[at] = _tail(entry, width)
        yield columns.line(row)


def _build_table(events, **options):
    """Write ``events`` as a table; ``options`` are those of EventList.table() and what was recorded."""
    if not events:
        return ""
    if options["sort_by"] is not None:
        by = options["sort_by"]
        for device in ("cuda", "xpu", "privateuse1"):
            by = by.replace(device, "device")
        events = sorted(events, key=lambda e: getattr(e, by), reverse=True)
    total = sum(e.self_cpu_time_total for e in events)
    columns, places = _columns(events, total, options)
    lines = []
    if options["header"] is not None:
        lines += ["=" * columns.length + "\n", options["header"] + "\n"]
    if options["top_level_events_only"]:
        lines += ["=" * columns.length + "\n", "This report only display top-level ops statistics\n"]
        events = [e for e in events if e.cpu_parent is None]
    lines += [columns.rule, columns.line(columns.titles), columns.rule]
    limit = options["row_limit"]
    for event in events if limit < 0 else events[:limit]:
        lines.append(columns.line([value(event) for value in columns.values]))
        if places is not None:
            lines += _rest_of_stack(columns, event, places)
    lines += [columns.rule, f"Self CPU time total: {_in_unit(total, options['time_unit'])}\n"]
    return "".join(lines)
