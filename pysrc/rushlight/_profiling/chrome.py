"""Traces in the JSON of chrome://tracing and Perfetto.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import gzip
import json
import os
import platform
import sys
from typing import NamedTuple

from . import events as E

_CATEGORY = {E.USER: "user_annotation", E.MODULE: "python_function", E.PYTHON: "python_function"}
_SECOND = 1_000_000_000


class Trace(NamedTuple):
    """What is written beside the records: when the session began by the clock of the wall, what the user and
    the profiler say of it, ``{key: JSON}``."""

    unix_start: int
    trace_id: str
    metadata: dict


class _Clock:
    """Nanoseconds of the session to the microseconds of the file."""

    def __init__(self, done, trace) -> None:
        self.base = trace.unix_start // _SECOND * _SECOND
        self._offset = trace.unix_start - self.base - done.start

    def __call__(self, time):
        return (time + self._offset) / 1000


def _text(value):
    return "" if value is None else json.dumps(value) if isinstance(value, list) else str(value)


def _arguments(at, record):
    """What the viewer shows of an event."""
    arguments = {"External id": at + 1, "Record function id": 0, "Ev Idx": at}
    if record.kind in (E.PYTHON, E.MODULE):
        return {"Python id": at + 1, "Ev Idx": at}
    if record.sequence >= 0:
        backward = record.kind in (E.EVALUATE, E.NODE)
        arguments["Sequence number"] = record.sequence
        arguments["Fwd thread id"] = record.thread if backward else 0
    if record.inputs:
        arguments["Concrete Inputs"] = [_text(value) for value in E.values_of(record.inputs)]
        arguments["Input type"] = E.types_of(record.inputs)
        arguments["Input Dims"] = E.structured_shapes_of(record.inputs)
    return arguments


def _span(at, record, pid, clock):
    return {
        "ph": "X",
        "cat": _CATEGORY.get(record.kind, "cpu_op"),
        "name": record.name,
        "pid": pid,
        "tid": record.system_thread,
        "ts": clock(record.start),
        "dur": (record.end - record.start) / 1000,
        "args": _arguments(at, record),
    }


def _memory(at, record, pid, clock):
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": record.name,
        "pid": pid,
        "tid": record.system_thread,
        "ts": clock(record.start),
        "args": {
            "Total Allocated": record.after,
            "Bytes": record.before,
            "Device Id": -1,
            "Device Type": 0,
            "Ev Idx": at,
        },
    }


def _arrows(records, pid, clock):
    """From the last call that began before a node was made to the node that runs backward."""
    forward = {}
    for record in records:
        if record.kind in (E.OPERATOR, E.INPLACE, E.FUNCTION) and record.sequence >= 0:
            forward[record.sequence, record.thread] = record
        elif record.kind == E.NODE and (record.sequence, record.thread) in forward:
            made = forward[record.sequence, record.thread]
            same = {"pid": pid, "cat": "fwdbwd", "name": "fwdbwd", "id": record.sequence}
            yield {"ph": "s", "tid": made.system_thread, "ts": clock(made.start), **same}
            yield {"ph": "f", "tid": record.system_thread, "ts": clock(record.start), "bp": "e", **same}


def _names(records, pid):
    """Labels of the process and of its threads."""
    python = os.path.basename(sys.executable) or "python"
    labels = {"process_name": {"name": python}, "process_labels": {"labels": "CPU"}}
    for name, args in labels.items():
        yield {"ph": "M", "name": name, "ts": 0, "pid": pid, "tid": 0, "args": args}
    for thread in sorted({record.system_thread for record in records}):
        args = {"name": f"thread {thread} ({python})"}
        yield {"ph": "M", "name": "thread_name", "ts": 0, "pid": pid, "tid": thread, "args": args}


def _trace_events(done, clock):
    pid = os.getpid()
    yield from _names(done.records, pid)
    for at, record in enumerate(done.records):
        yield (_memory if record.kind == E.MEMORY else _span)(at, record, pid, clock)
    yield from _arrows(done.records, pid, clock)
    whole = {"name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "cat": "Trace"}
    length = (done.stop - done.start) / 1000
    yield {"ph": "X", "ts": clock(done.start), "dur": length, "args": {"Op count": 0}, **whole}


def write_trace(done, trace, path):
    """Write all that a session recorded to ``path``; compressed where it ends with ``.gz``."""
    clock = _Clock(done, trace)
    head = {"schemaVersion": 1, "deviceProperties": [], "trace_id": trace.trace_id}
    head |= {key: json.loads(value) for key, value in trace.metadata.items()}
    head |= {"host_name": platform.node(), "displayTimeUnit": "ms", "baseTimeNanoseconds": clock.base}
    with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w") as file:
        file.write(json.dumps(head, indent=2)[:-2])
        file.write(',\n  "traceEvents": [')
        for i, event in enumerate(_trace_events(done, clock)):
            file.write((",\n  " if i else "\n  ") + json.dumps(event))
        file.write(f'\n  ],\n  "traceName": {json.dumps(str(path))}\n}}\n')


def write_events(events, path):
    """Write a list of FunctionEvent, without what only the session knows."""
    spans = [
        {
            "name": event.trace_name,
            "ph": "X",
            "ts": event.time_range.start,
            "dur": event.time_range.elapsed_us(),
            "tid": event.thread,
            "pid": "CPU functions",
            "args": {},
        }
        for event in events
        if event.trace_name is not None
    ]
    with open(path, "w") as file:
        json.dump(spans, file)
