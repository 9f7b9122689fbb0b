"""``torch.profiler.profile``: a profiler that goes by steps, and what it is told.

See https://docs.pytorch.org/docs/2.13/profiler.html
"""

import json
import os
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any
from warnings import warn

import rushlight.autograd.profiler as prof
from rushlight import _missing
from rushlight._profiling.kinds import ProfilerActivity, supported_activities

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


# ---- when a profiler records: actions, schedules, what is done with a trace ----
class ProfilerAction(Enum):
    """What a profiler does in a step; a schedule answers one of the first four."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def always(_step):
    """Record every step: the schedule of a profiler that was given none."""
    return ProfilerAction.RECORD


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
):
    """Make the schedule of a profiler: a function from the number of a step to what is done in it.

    Parameters
    ----------
    wait, warmup, active : int
        A cycle: steps that are not recorded, steps with the profiler ready, steps that are recorded.
    repeat : int
        How many cycles there are; 0 goes on.
    skip_first : int
        Steps before the first cycle.
    skip_first_wait : int
        Anything but 0 lets the first cycle begin without its ``wait`` steps.

    Examples
    --------
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html#torch.profiler.schedule
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if place < wait or 0 < repeat <= cycle:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return schedule_fn


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
):
    """Make an ``on_trace_ready`` that writes each trace to a file of its own below ``dir_name``.

    Parameters
    ----------
    dir_name : str
        The folder, which is made where it is missing; RuntimeError where that fails.
    worker_name : str, optional
        What the files' names begin with; the machine and the process without it.
    use_gzip : bool
        Compress the files.

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html#torch.profiler.tensorboard_trace_handler
    """
    import socket
    import time

    def handler_fn(prof) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler_fn


__getattr__ = _missing.module_getattr(__name__)

PROFILER_STEP_NAME = "ProfilerStep"
_CLEARS = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
    "reported. To keep events across cycles, set acc_events=True."
)
_STOPPED = (
    "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
    "user-provided schedule"
)


_WARNINGS_SHOWN: set[str] = set()


def _warn_once(text):
    if text not in _WARNINGS_SHOWN:
        _WARNINGS_SHOWN.add(text)
        warn(text, stacklevel=3)


class _ExperimentalConfig:
    """Options that PyTorch does not promise to keep: ``profile_all_threads`` is heard, the others are not."""

    def __init__(self, *, profile_all_threads: bool = False, verbose: bool = False, **others: Any) -> None:
        self.profile_all_threads, self.verbose = profile_all_threads, verbose
        self.__dict__.update(others)


def _parse_activities(activities):
    """The set of activities, from a list of them and of dicts with them for keys."""
    found: set = set()
    for item in activities:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in item if isinstance(item, dict) else (item,):
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
    return found


class _KinetoProfile:
    """A profiler without steps: start() and stop()."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = supported_activities() if activities is None else _parse_activities(activities)
        self.record_shapes, self.with_flops, self.profile_memory = record_shapes, with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler: prof.profile | None = None
        self.use_device = next(
            (
                name.lower()
                for name in ("CUDA", "XPU", "MTIA", "HPU")
                if ProfilerActivity[name] in self.activities
            ),
            None,
        )
        self.preset_metadata: dict[str, str] = {}

    # ---- on and off ----
    def start(self) -> None:
        """Record from now on."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Record no more."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Make ready to record."""
        if self.profiler is not None and not self.acc_events:
            _warn_once(_CLEARS)
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_device=self.use_device,
                use_kineto=True,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
            )
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Record, after prepare_trace()."""
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        self._need("Profiler must be initialized before starting trace")._start_trace()
        for option in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, option):
                self.add_metadata_json(option, "1")
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)

    def stop_trace(self) -> None:
        """Record no more, after start_trace()."""
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._need("Profiler must be initialized before stopping trace").__exit__(None, None, None)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Refuse to leave parts of a recording out: stop() and start() do that."""
        if self.profiler is not None:
            raise _missing.refuse("toggle_collection_dynamic()")

    def _need(self, otherwise):
        if self.profiler is None:
            raise AssertionError(otherwise)
        return self.profiler

    # ---- what was recorded ----
    def events(self) -> prof.EventList:
        """Return all events, an EventList of FunctionEvent."""
        return self._need("Profiler must be initialized before accessing events").function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ):
        """Return the averages of the events of one name, an EventList of FunctionEventAvg.

        Parameters
        ----------
        group_by_input_shape : bool
            One for each name and shapes (needs ``record_shapes=True``).
        group_by_stack_n : int
            One for each name and so many functions of the stack (needs ``with_stack=True``).
        """
        profiler = self._need("Profiler must be initialized before getting key averages")
        return profiler.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the last cycle to a file that chrome://tracing and Perfetto open; ``.gz`` compresses it."""
        self._need("Profiler must be initialized before exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and their times, for flame graphs; needs ``with_stack=True``."""
        self._need("Profiler must be initialized before exporting stacks").export_stacks(path, metric)

    # ---- what a trace says of itself ----
    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put JSON into the trace."""
        if self.profiler is not None:
            self.profiler._metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Put JSON into the traces of all cycles that begin from now on."""
        self.preset_metadata[key] = value


_NONE, _WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
_RECORD, _SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


class profile(_KinetoProfile):
    """Record the operators that run, their times, memory and shapes.

    Parameters
    ----------
    activities : iterable, optional
        What to record, of ``ProfilerActivity``; the CPU is what there is.
    schedule : callable, optional
        From the number of a step to a ``ProfilerAction``, as schedule() makes it; step() ends a step. All is
        recorded without it.
    on_trace_ready : callable, optional
        Called with this profiler whenever a cycle of the schedule ends, and at the end.
    record_shapes : bool
        Keep the sizes of what operators are called with.
    profile_memory : bool
        Count the bytes of tensors that come and go.
    with_stack : bool
        Record the calls of Python functions, too.
    with_flops : bool
        Estimate the floating point operations of products, convolutions, sums and products by element.
    with_modules : bool
        Record the modules that are called, as ``nn.Module: Linear_0``.
    acc_events : bool
        Keep the events of earlier cycles.

    Raises
    ------
    AssertionError
        When there is no activity, or nothing was recorded yet that could be shown.

    Examples
    --------
    >>> from rushlight.profiler import ProfilerActivity, profile, record_function
    >>> with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    ...     with record_function("twice"):
    ...         y = torch.ones(2, 3) * 2
    >>> [(event.name, event.input_shapes) for event in prof.events()][-1]
    ('aten::mul', [[2, 3], []])
    >>> print(prof.key_averages().table(row_limit=3).splitlines()[1].split()[:4])
    ['Name', 'Self', 'CPU', '%']

    Reference
    ---------
    https://docs.pytorch.org/docs/2.13/profiler.html#torch.profiler.profile
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if use_cuda is not None:
            text = "`use_cuda` is deprecated, use `activities` argument instead"
            warn(text, FutureWarning, stacklevel=2)
        if activities is not None:
            activities = list(activities)
            if not any(isinstance(item, (ProfilerActivity, dict)) for item in activities):
                raise AssertionError("No valid profiler activities found")
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.schedule = schedule or always
        self.record_steps = bool(schedule)  # they are named where there are some
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: prof.record_function | None = None
        self.current_action = self._action_of(0)
        prof.KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.stop()
        prof.KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    # ---- steps ----
    def start(self) -> None:
        """Begin with the first step, or go on after stop()."""
        self._transit_action(_NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._end_step()
        self._transit_action(self.current_action, None)

    def step(self) -> None:
        """End a step and begin the next."""
        self._end_step()
        action = self._action_of(self.step_num + 1)
        before, self.current_action = self.current_action, action
        self.step_num += 1
        self._transit_action(before, action)
        self._begin_step()

    def _action_of(self, step):
        action = self.schedule(step)
        if action == ProfilerAction.DEVICE_STOPPED:
            raise ValueError(_STOPPED)
        return action

    def _begin_step(self):
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"{PROFILER_STEP_NAME}#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self):
        if self.step_rec_fn is not None:
            ended, self.step_rec_fn = self.step_rec_fn, None
            ended.__exit__(None, None, None)

    def _transit_action(self, before, after) -> None:
        """Go from the action of one step to that of the next; None is behind the last.

        =======  =====================================================  ==========================
        from     to NONE                                                to WARMUP, RECORD, SAVE
        =======  =====================================================  ==========================
        NONE                                                            ready, and record from RECORD on
        WARMUP   warns, records nothing                                 records from RECORD on
        RECORD   warns, stops (WARMUP: the same)                        goes on
        SAVE     stops, hands the trace out                             the same, and as from NONE
        =======  =====================================================  ==========================
        """
        if before is _WARMUP and after in (_NONE, None):
            if after is _NONE:
                warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
            self.start_trace()
            self.stop_trace()
        elif before is _RECORD and after in (_NONE, _WARMUP):
            warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)
            self.stop_trace()
        elif before is _SAVE or (before is _RECORD and after is None):
            self.stop_trace()
            self._trace_ready()
        if before in (_NONE, _SAVE) and after in (_WARMUP, _RECORD, _SAVE):
            self.prepare_trace()
        if before is not _RECORD and after in (_RECORD, _SAVE):
            self.start_trace()

    def _trace_ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # ---- the identity of a trace ----
    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Say what makes the identity of each trace."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """Return the identity of the current trace."""
        return None if self.profiler is None else self.profiler.trace_id
