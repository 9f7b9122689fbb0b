"""The table that a list of events prints, with PyTorch's columns and widths."""

import math

_COLUMN = 12  # characters of a column of numbers
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


# ---- numbers as texts ----
def format_time(time_us):
    """Write microseconds with the unit that suits."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def format_time_share(time_us, total_time_us):
    """Write a part of a time in per cent."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def format_memory(nbytes):
    """Write bytes with the unit that suits."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024**power:
            return f"{nbytes / 1024**power:.2f} {unit}"
    return f"{nbytes} B"


def _in_unit(time_us, unit):
    scale = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(unit)
    return format_time(time_us) if scale is None else f"{time_us / scale:.3f}{unit}"


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
        return lambda e: 0 if none and e.is_async else format_time_share(getattr(e, time), total)

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
        columns.add("CPU Mem", lambda e: format_memory(e.cpu_memory_usage))
        columns.add("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage))
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


def build_table(events, **options):
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
