"""Queues of work on a GPU, and events in them.

Work of one stream runs in order. Streams do not wait for each other unless an event says so; the default
stream is CUDA's legacy one.
"""

from __future__ import annotations

from rushlight import _C

from . import _devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from rushlight.types import Device

__all__ = ["Event", "ExternalStream", "Stream"]


class Stream:
    """A queue of work on a GPU.

    Parameters
    ----------
    device : torch.device or int, optional
        The GPU; the current one by default.
    priority : int, default 0
        Work of streams below zero goes first.
    """

    def __init__(self, device: Device = None, priority: int = 0, **kwargs: Any):
        cuda = _devices.extension()
        if "stream_id" in kwargs:
            self.device_index, self.cuda_stream = kwargs["device_index"], kwargs["stream_id"]
        else:
            self.device_index = _devices.index_of(device)
            self.cuda_stream = cuda.stream_new(self.device_index, priority < 0)
        self.priority = min(priority, 0)
        self._cuda = cuda

    @property
    def device(self) -> Any:
        """The GPU."""
        return _C.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        """A number that no other stream of the GPU has."""
        return self.cuda_stream

    @property
    def device_type(self) -> int:
        """PyTorch's number of GPUs."""
        return 1

    @property
    def _as_parameter_(self):
        from ctypes import c_void_p

        return c_void_p(self.cuda_stream)

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self._cuda.stream_synchronize(self.device_index, self.cuda_stream)

    def query(self) -> bool:
        """Whether all work is done."""
        return self._cuda.stream_query(self.device_index, self.cuda_stream)

    def wait_event(self, event: Event) -> None:
        """Later work waits for an event; one that was never recorded has happened."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Later work waits for what another stream has to do now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default, behind the work so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Self:
        self._block = StreamContext(self)
        self._block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, which must keep it alive.

    Parameters
    ----------
    stream_ptr : int
        Its address.
    device : torch.device or int, optional
        Its GPU; the current one by default.
    """

    def __init__(self, stream_ptr: int, device: Device = None):
        super().__init__(stream_id=stream_ptr, device_index=_devices.index_of(device))


class Event:
    """A place in the queue of a stream.

    Parameters
    ----------
    enable_timing : bool, default False
        Whether elapsed_time() may ask it.
    blocking : bool, default False
        Whether synchronize() sleeps instead of asking again and again.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        if interprocess:
            from rushlight import _missing

            raise _missing.refuse("Event(interprocess=True)")
        self._timed, self._blocking = enable_timing, blocking
        self._index, self.cuda_event = -1, 0

    @property
    def device(self) -> Any:
        """The GPU that it was recorded on, or None."""
        return _C.device("cuda", self._index) if self.cuda_event else None

    def record(self, stream: Stream | None = None) -> None:
        """Put it behind the work of a stream, of the current one by default."""
        stream = current_stream() if stream is None else stream
        cuda = _devices.extension()
        if not self.cuda_event:
            self.cuda_event = cuda.event_new(stream.device_index, self._timed, self._blocking)
            self._index = stream.device_index
        if stream.device_index != self._index:
            raise RuntimeError(
                f"Event device {self._index} does not match recording stream's device {stream.device_index}."
            )
        cuda.event_record(self._index, self.cuda_event, stream.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Later work of a stream waits for it."""
        stream = current_stream() if stream is None else stream
        if self.cuda_event:
            _devices.extension().stream_wait(stream.device_index, stream.cuda_stream, self.cuda_event)

    def query(self) -> bool:
        """Whether all work before it is done."""
        return not self.cuda_event or _devices.extension().event_query(self._index, self.cuda_event)

    def synchronize(self) -> None:
        """Wait until all work before it is done."""
        if self.cuda_event:
            _devices.extension().event_synchronize(self._index, self.cuda_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another one."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.cuda_event and end_event.cuda_event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise ValueError("Both events must be completed before calculating elapsed time.")
        return _devices.extension().event_elapsed(self._index, self.cuda_event, end_event.cuda_event)

    def __del__(self):
        if getattr(self, "cuda_event", 0):
            _devices.extension().event_free(self._index, self.cuda_event)

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Event {self.cuda_event:#x}>"
            if self.cuda_event
            else "<torch.cuda.Event uninitialized>"
        )


def current_stream(device: Device = None) -> Stream:
    """Return this thread's current stream on a GPU."""
    index = _devices.index_of(device)
    return Stream(stream_id=_devices.extension().stream(index), device_index=index)


def default_stream(device: Device = None) -> Stream:
    """Return a GPU's default stream."""
    return Stream(stream_id=0, device_index=_devices.index_of(device))


def set_stream(stream: Stream | None) -> None:
    """Make a stream, and its GPU, this thread's current ones."""
    if stream is not None:
        cuda = _devices.extension()
        cuda.stream_use(stream.device_index, stream.cuda_stream)
        cuda.choose(stream.device_index)


class StreamContext:
    """A block of code whose work goes to a stream.

    Parameters
    ----------
    stream : Stream
        None changes nothing.
    """

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._before = current_stream()  # of the GPU that was current
        self._there = current_stream(self.stream.device_index)
        set_stream(self.stream)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        if self.stream is None:
            return
        set_stream(self._there)
        set_stream(self._before)


def stream(stream: Stream | None) -> StreamContext:
    """Make a block of code whose work goes to a stream."""
    return StreamContext(stream)
