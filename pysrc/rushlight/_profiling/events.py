"""From what C recorded to events, as PyTorch describes them."""

import os
import sys
from collections import defaultdict
from math import prod
from typing import NamedTuple

from rushlight.autograd.profiler_util import MEMORY_EVENT_NAME, EventList, FunctionEvent

from .kinds import RecordScope

# rl_event_kind (csrc/profile/profile.h)
OPERATOR, INPLACE, EVALUATE, NODE, FUNCTION, USER, MODULE, PYTHON, MEMORY = range(9)
_ACTIVITY = {USER: "user_annotation", MODULE: "python_function", PYTHON: "python_function"}
_SCOPE = {NODE: RecordScope.BACKWARD_FUNCTION.value, USER: RecordScope.USER_SCOPE.value}
_TYPES = {  # as PyTorch's traces name them
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
_NOT_TENSORS = {"", "Scalar", "ScalarList", "TensorList"}
# operators that PyTorch calls otherwise
_NAMES = {
    "aten::_to_copy": "aten::to",
    "aten::_sgd_": "aten::_fused_sgd_",
    "aten::_adam_": "aten::_fused_adam_",
    "aten::_adagrad_": "aten::_fused_adagrad_",
    "aten::log_softmax_backward": "aten::_log_softmax_backward_data",
    "aten::softmax_backward": "aten::_softmax_backward_data",
    "aten::max_pool2d_backward": "aten::max_pool2d_with_indices_backward",
}


class Record(NamedTuple):
    """One event of rushlight._C._profile_stop: times in nanoseconds, memory in bytes."""

    kind: int
    name: str
    start: int
    end: int
    thread: int
    system_thread: int
    sequence: int
    before: int
    after: int
    inputs: list
    elsewhere: bool
    unfinished: bool


class Recording(NamedTuple):
    """What one session recorded."""

    records: list
    start: int
    stop: int
    dropped: int


NOTHING = Recording([], 0, 0, 0)


def recording(stopped):
    """Read what rushlight._C._profile_stop answers."""
    records, start, stop, dropped = stopped
    found = []
    for each in records:
        record = Record(*each)
        # a step that raised never said that it ended
        if not (record.unfinished and record.name.startswith("Optimizer.")):
            name = _NAMES.get(record.name)
            found.append(record._replace(name=name) if name else record)
    return Recording(found, start, stop, dropped)


# ---- inputs ----
def shapes_of(inputs):
    """Return the sizes of each tensor, ``[]`` for any other argument."""
    return [[] if kind in _NOT_TENSORS else value for kind, value in inputs]


def structured_shapes_of(inputs):
    """Return the same, with the sizes of each tensor of a list."""
    return [
        [sizes for _, sizes in value] if kind == "TensorList" else shapes_of([(kind, value)])[0]
        for kind, value in inputs
    ]


def types_of(inputs):
    """Return what each argument is, in the words of PyTorch's traces."""
    return [_TYPES.get(kind, kind) for kind, _ in inputs]


def values_of(inputs):
    """Return the numbers and texts among the arguments, None for all others."""
    return [value if kind in ("Scalar", "ScalarList") else None for kind, value in inputs]


# ---- arithmetic ----
def _product_flops(shapes, values):
    *batch, m, k = shapes[0]
    return 2 * prod(batch) * m * k * shapes[1][-1]


def _conv_flops(shapes, values):
    (n, _, *sizes), (out, per_group, *kernel) = shapes[:2]
    stride, padding, dilation = (
        each if isinstance(each, list) else [each] * len(sizes) for each in values[3:6]
    )
    numbers = (*stride, *padding, *dilation)
    if len(sizes) != len(kernel) or not all(isinstance(number, int) for number in numbers):
        return 0  # one image without a batch; padding="same"
    places = [
        (size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i, size in enumerate(sizes)
    ]
    return 2 * n * out * prod(places) * per_group * prod(kernel)


_FLOPS = {
    "aten::mm": _product_flops,
    "aten::bmm": _product_flops,
    "aten::addmm": lambda shapes, values: _product_flops(shapes[1:], values),
    "aten::baddbmm": lambda shapes, values: _product_flops(shapes[1:], values),
    "aten::linear": lambda shapes, values: 2 * prod(shapes[0]) * shapes[1][0],
    "aten::conv2d": _conv_flops,
    "aten::add": lambda shapes, values: prod(shapes[0]),
    "aten::mul": lambda shapes, values: prod(shapes[0]),
}


def flops_of(record):
    """Estimate the floating point operations of a call; 0 where nobody knows."""
    count = _FLOPS.get(record.name)
    if count is None or not record.inputs:
        return 0
    try:
        return count(shapes_of(record.inputs), values_of(record.inputs))
    except (ValueError, IndexError, TypeError):  # an unbatched image, a number for a tensor
        return 0


# ---- stacks ----
def _short(name, folders):
    """Write a source file as seen from where it was imported from."""
    for folder in folders:
        if name.startswith(folder):
            return name[len(folder) :]
    return name


def stacks_of(records):
    """Return for each record the Python functions around it, the innermost first."""
    folders = sorted({os.path.join(folder, "") for folder in sys.path if folder}, key=len, reverse=True)
    around, stacks, names = defaultdict(list), {}, {}
    for at, record in enumerate(records):
        outer = around[record.thread]
        while outer and (record.start >= outer[-1][0] or record.end > outer[-1][0]):
            outer.pop()
        stacks[at] = outer[-1][1] if outer else []
        if record.kind in (PYTHON, MODULE):
            name = names.setdefault(record.name, _short(record.name, folders))
            outer.append((record.end, [name, *stacks[at]]))
    return stacks, names


# ---- events ----
def _event(at, record, start, options):
    inputs, name = record.inputs, record.name
    trace_name = name
    if name.startswith("ProfilerStep#"):
        name = "ProfilerStep*"
    backward = record.kind in (EVALUATE, NODE)
    event = FunctionEvent(
        id=at,
        name=name,
        trace_name=trace_name,
        overload_name="",
        thread=record.thread,
        start_us=(record.start - start) / 1000,
        end_us=(record.end - start) / 1000,
        fwd_thread=record.thread if backward and record.sequence >= 0 else 0,
        input_shapes=shapes_of(inputs),
        structured_input_shapes=structured_shapes_of(inputs),
        concrete_inputs=values_of(inputs),
        input_dtypes=types_of(inputs),
        kwinputs={},
        stack=[],
        scope=_SCOPE.get(record.kind, 0),
        cpu_memory_usage=record.after - record.before if options.profile_memory else 0,
        is_async=record.elsewhere,
        sequence_nr=record.sequence,
        flops=flops_of(record) if options.with_flops else 0,
        is_user_annotation=record.kind == USER,
        is_python_function=record.kind in (PYTHON, MODULE),
        activity_type=_ACTIVITY.get(record.kind, "cpu_op"),
    )
    return event


def _memory_event(at, record, start):
    time = (record.start - start) / 1000
    return FunctionEvent(
        id=at,
        name=MEMORY_EVENT_NAME,
        overload_name="",
        thread=record.thread,
        start_us=time,
        end_us=time,
        fwd_thread=record.thread,
        input_shapes=[],
        stack=[],
        cpu_memory_usage=record.before,
    )


def events(done, options):
    """Make the list of events of a recording; ``options`` say what was to be recorded."""
    records = done.records
    stacks, names = stacks_of(records) if options.with_stack else ({}, {})
    found, memory, last = [], [], defaultdict(int)
    for at, record in enumerate(records):
        if record.kind == MEMORY:
            if record.start > last[record.thread]:  # in no other event: those show the bytes
                memory.append((at, record))
            continue
        last[record.thread] = max(last[record.thread], record.end)
        event = _event(len(found) + 1, record, done.start, options)
        event.stack = stacks.get(at, event.stack)
        event.name = names.get(record.name, event.name)
        found.append(event)
    found += [_memory_event(i, record, done.start) for i, (_, record) in enumerate(memory, len(found) + 1)]
    found.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
    listed = EventList(found, profile_memory=options.profile_memory, with_flops=options.with_flops)
    listed._build_tree()
    return listed
