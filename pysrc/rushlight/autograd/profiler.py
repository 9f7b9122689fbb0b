"""The profiler that ``rushlight.profiler`` stands on, and names for blocks of code.

See https://docs.pytorch.org/docs/2.13/autograd.html#profiler
"""

import time
import uuid
from collections import defaultdict
from contextlib import ContextDecorator
from warnings import warn

from rushlight import _C, _missing, _stack
from rushlight._profiling import chrome, events, hooks
from rushlight._profiling.kinds import DeviceType, ProfilerActivity  # noqa: F401

from .profiler_util import EventList, FunctionEvent, MemRecordsAcc

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]
__getattr__ = _missing.module_getattr(__name__)

_DEVICES = ("cuda", "xpu", "mtia", "hpu")
_LOST = (
    "disableProfiler called but no active profiling session found. Another profiler was started while this "
    "one ran: what it had recorded is lost."
)


def kineto_available():
    """Are there traces of whole programs? True."""
    return True


class profile:
    """Record what runs within a ``with`` block: the operators, the nodes of backward passes, their times.

    Parameters
    ----------
    enabled : bool
        False makes it do nothing.
    use_device : str, optional
        There are no GPUs to record: a name of one gives a warning.
    record_shapes : bool
        Keep the sizes of what operators are called with.
    with_flops : bool
        Estimate the floating point operations of products, convolutions, sums and products by element.
    profile_memory : bool
        Count the bytes of tensors that come and go.
    with_stack : bool
        Record the calls of Python functions, too; events then know their stack.
    with_modules : bool
        Record the modules that are called, as ``nn.Module: Linear_0``.
    acc_events : bool
        Keep events over several ``with`` blocks of one profile.

    Notes
    -----
    The calling thread is recorded. Of two profilers the one that begins later gets the events.

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (x * 3).sum().backward()
    >>> [event.name for event in prof.function_events][:2]
    ['aten::mul', 'aten::sum']

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.profiler.profile
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s: float | None = None,
        activity_filters=None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        self.use_cuda = use_cuda
        if use_cuda:
            text = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` "
            warn(text + "instead.", FutureWarning, stacklevel=2)
        self.use_device = _device("cuda" if use_cuda else use_device)
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if not use_cpu:
            raise AssertionError("No activities specified for the profiler")
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.use_cpu, self.kineto_activities = use_cpu, {ProfilerActivity.CPU}
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.acc_events, self.experimental_config = acc_events, experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s, self.activity_filters = (
            post_processing_timeout_s,
            activity_filters or {},
        )
        self.trace_id, self.entered = "", False
        self.profiling_start_time_ns = self.profiling_end_time_ns = 0
        self._session = self._recording = self._function_events = None
        self._earlier, self._metadata = [], {}
        self._uninstall = None

    # ---- on and off ----
    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self):
        self.entered = True
        make_id = self.custom_trace_id_callback
        self.trace_id = make_id() if make_id else f"{uuid.uuid4().int:032X}"

    def _start_trace(self):
        self.entered = True
        self._recording, self._metadata = None, {}
        self._uninstall = hooks.install(self.with_modules or self.with_stack)
        self.profiling_start_time_ns = time.time_ns()
        try:
            self._session = _C._profile_start(
                inputs=self.record_shapes,
                memory=self.profile_memory,
                python=self.with_stack,
                all_threads=getattr(self.experimental_config, "profile_all_threads", False),
                within=_stack.runner,
            )
        except BaseException:
            self._uninstall()
            raise

    def __exit__(self, exc_type, exc_val, exc_tb):
        if not self.enabled or self._session is None:
            return None
        session, self._session = self._session, None
        try:
            stopped = _C._profile_stop(session)
        finally:
            self._uninstall()
        self.profiling_end_time_ns = time.time_ns()
        if stopped is None:
            warn(_LOST, stacklevel=2)
        if self.acc_events:
            self._earlier = list(self._function_events or ())
        self._function_events = None
        self._recording = events.recording(stopped) if stopped else events.NOTHING
        if self._recording.dropped:
            warn(
                f"The profiler ran out of memory and dropped {self._recording.dropped} events.", stacklevel=2
            )
        if self.acc_events:
            self._ensure_function_events()
        return False

    def __repr__(self) -> str:
        return self._as_text(repr)

    def __str__(self) -> str:
        return self._as_text(str)

    def _as_text(self, write):
        if self._function_events is None and self._recording is None:
            return "<unfinished torch.autograd.profile>"
        return write(self.function_events)

    # ---- what was recorded ----
    def _ensure_function_events(self):
        """Make the events when somebody first asks for them."""
        if self._function_events is not None:
            return
        done = self._recording or events.NOTHING
        self._function_events = events.events(done, self)
        self._function_events += self._earlier
        self._earlier = []

    @property
    def function_events(self):
        """All events, an EventList."""
        self._ensure_function_events()
        return self._function_events

    @property
    def self_cpu_time_total(self):
        """The time of all events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
    ):
        """Return all events as a table: EventList.table()."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Return averages by name: EventList.key_averages()."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """Return the sums over all events: EventList.total_average()."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path, metadata=None, use_python_export=False) -> None:
        """Write the last recording to a file that chrome://tracing and Perfetto open."""
        done = self._recording or events.NOTHING
        trace = chrome.Trace(self.profiling_start_time_ns, self.trace_id, self._metadata | (metadata or {}))
        chrome.write_trace(done, trace, path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and times: EventList.export_stacks()."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


def _device(name):
    """What is left of ``use_device``: nothing, with a warning."""
    if name is not None and name not in _DEVICES:
        warn(f"The {name} is not a valid device option.", stacklevel=3)
    elif name is not None:
        warn(f"{name.upper()} is not available, disabling {name.upper()} profiling", stacklevel=3)


class record_function(ContextDecorator):
    """Give a block of code, or a function, a name in what a profiler records.

    Parameters
    ----------
    name : str
        The name.
    args : str, optional
        More about it; nothing shows it.

    Examples
    --------
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("twice"):
    ...         y = torch.ones(2) * 2
    >>> [event.name for event in prof.function_events]
    ['twice', 'aten::ones', 'aten::mul']

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.profiler.record_function.html
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record = None
        self._records = []

    def __enter__(self):
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for argument 'name' "
                f"but instead found type '{type(self.name).__name__}'.\nPosition: 0\nValue: {self.name}\n"
                "Declaration: profiler::_record_function_enter_new(str name, str? args=None) -> "
                "__torch__.torch.classes.profiler._RecordFunction"
            )
        self.record = (_C._record_enter(self.name),)
        self._records.append(self.record)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if not self._records:
            raise AssertionError("Expected record to be set")
        _C._record_exit(*self._records.pop())


class _emit:
    """Ranges for another profiler, which cannot hear of them from here."""

    _WHAT: str

    def __init__(self, enabled=True, record_shapes=False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._WHAT} annotation context manager is not reentrant")
        self.entered = True
        self._check()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        return False if self.enabled else None

    def _check(self):
        """Raise where there can be no ranges."""


class emit_itt(_emit):
    """Ranges for Intel's VTune: accepted, and nothing is emitted."""

    _WHAT = "ITT"


class emit_nvtx(_emit):
    """Ranges for NVIDIA's tools: an error where PyTorch without CUDA has one."""

    _WHAT = "NVTX"

    def _check(self):
        raise AssertionError("Torch not compiled with CUDA enabled")


def load_nvprof(path):
    """Refuse to read a trace of nvprof: nothing here runs on NVIDIA's GPUs."""
    raise _missing.refuse("load_nvprof()")


def parse_nvprof_trace(path):
    """Refuse to read a trace of nvprof: nothing here runs on NVIDIA's GPUs."""
    raise _missing.refuse("parse_nvprof_trace()")


class EnforceUnique:
    """Raises when it sees a key again."""

    def __init__(self) -> None:
        self.seen = set()

    def see(self, *key) -> None:
        """Remember ``key``; RuntimeError where it was seen before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps for several who step, of whom the fastest gives the number."""

    _current_step = 0
    _step_dict: dict = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for somebody."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget somebody; False where nobody counted for it."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of somebody; return the largest count."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the largest count."""
        return cls._current_step
