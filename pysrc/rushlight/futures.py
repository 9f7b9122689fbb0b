"""Results that come later: ``torch.futures``.

A future is empty until somebody sets a value or an exception, once; callbacks run then, in the thread that
sets it, or at once when it is set already. See https://docs.pytorch.org/docs/2.13/futures.html
"""

from __future__ import annotations

import sys
import threading
from typing import Generic, TypeVar

from . import _C, _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

T = TypeVar("T")
S = TypeVar("S")


def _frames(error):
    """The lines "file(line): function" of an exception's frames and of their callers, the innermost first."""
    inner, traceback = [], error.__traceback__
    outer = traceback.tb_frame.f_back if traceback else None
    while traceback:
        inner.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    inner.reverse()
    while outer:
        inner.append((outer, outer.f_lineno))
        outer = outer.f_back
    here = (__file__, "_run")
    named = ((f.f_code.co_filename, line, f.f_code.co_name) for f, line in inner)
    return "".join(f"  {file}({line}): {name}\n" for file, line, name in named if (file, name) != here)


def _told(error):
    return (
        f"Got the following error when running the callback: {type(error).__name__}: {error}\n\n"
        f"At:\n{_frames(error)}"
    )


def _refuse(name, signature, *given):
    said = ", ".join(map(repr, given))
    raise TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n"
        f"    1. {signature}\n\nInvoked with: {said}"
    )


class Future(Generic[T]):
    """Hold a value that is set later, by any thread.

    Parameters
    ----------
    devices : list of device, optional
        GPUs on which tensors of the value may lie: who waits, waits for the work on their current streams.

    Notes
    -----
    Same as torch.futures.Future: https://docs.pytorch.org/docs/2.13/futures.html#torch.futures.Future

    Examples
    --------
    >>> future = torch.futures.Future()
    >>> later = future.then(lambda done: done.value() + 1)
    >>> future.set_result(4)
    >>> later.wait()
    5
    """

    def __init__(self, *, devices: list[int | str | _C.device] | None = None) -> None:
        self._devices = [_C.device(each) for each in devices or ()]
        for device in self._devices:
            if device.index is None:
                raise ValueError(f"Expected devices to have indices, got {device}")
        self._changed = threading.Condition()
        self._is_done, self._result, self._error = False, None, None
        self._callback_failed = False
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._events: list[Any] = []

    def __reduce_ex__(self, protocol):
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether a value or an exception is there."""
        return self._is_done

    def wait(self) -> T:
        """Wait for the value and return it; raise the exception that was set instead."""
        with self._changed:
            self._changed.wait_for(self.done)
        for event in self._events:
            event.wait()
        return self.value()

    def value(self) -> T:
        """Return the value of a future that is done; raise the exception that was set instead.

        Raises RuntimeError if neither is there yet.
        """
        if not self._is_done:
            raise RuntimeError("the Future is not completed: value() was called before its result was set")
        if self._error is not None:
            raise self._error
        return self._result

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future of what ``callback(self)`` returns once this one is done.

        An exception of the callback becomes a RuntimeError of that future.
        """
        if not callable(callback):
            signature = "(self: torch._C.Future, arg0: collections.abc.Callable) -> torch._C.Future"
            _refuse("then", signature, self, callback)
        child: Future[S] = Future(devices=self._devices)

        def run(parent):
            try:
                result, error = callback(parent), None
            except BaseException as raised:
                result, error = None, RuntimeError(_told(raised))
                child._callback_failed = True
            child._complete(result, error)

        self._add(run)
        return child

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` once this one is done. Its exceptions are printed, not raised."""
        if not callable(callback):
            signature = "(self: torch._C.Future, arg0: collections.abc.Callable) -> None"
            _refuse("add_done_callback", signature, self, callback)
        self._add(callback)

    def set_result(self, result: T) -> None:
        """Set the value, and run the callbacks. Raises RuntimeError if the future is done already."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an exception that wait() and value() raise, and run the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, result, error):
        with self._changed:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be "
                    "marked completed once."
                )
            self._events = [self._record(device) for device in self._devices]
            self._result, self._error, self._is_done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            self._run(callback)

    @staticmethod
    def _record(device):
        """An event behind what the device's current stream has to do."""
        from . import cuda

        return cuda.current_stream(device).record_event()

    def _add(self, callback):
        with self._changed:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        self._run(callback)

    def _run(self, callback):
        for event in self._events:
            event.wait()
        try:
            callback(self)
        except Exception as error:
            sys.stderr.write(_told(error) + "\n")


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list of some futures, which is done when all of them are.

    Parameters
    ----------
    futures : list of Future
        Those to wait for. An exception of one of them is that of the result; that of a callback at once.

    Returns
    -------
    Future
        Its value is the list.

    Notes
    -----
    Same as torch.futures.collect_all:
    https://docs.pytorch.org/docs/2.13/futures.html#torch.futures.collect_all

    Examples
    --------
    >>> first, second = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([first, second])
    >>> first.set_result(1)
    >>> both.done()
    False
    >>> second.set_result(2)
    >>> [each.wait() for each in both.wait()]
    [1, 2]
    """
    if not isinstance(futures, (list, tuple)) or not all(isinstance(each, Future) for each in futures):
        signature = "(arg0: collections.abc.Sequence[torch._C.Future]) -> torch._C.Future"
        _refuse("_collect_all", signature, futures)
    together: Future[list[Future[Any]]] = Future()
    left, lock = [len(futures)], threading.Lock()

    def count(future):
        with lock:
            if left[0] <= 0:
                return
            # the error of a callback ends the waiting
            left[0] = 0 if future._callback_failed else left[0] - 1
            last = left[0] == 0
        if last:
            errors = (each._error for each in futures if each._error is not None)
            together._complete(list(futures), next(errors, None))

    for each in futures:
        each.add_done_callback(count)
    if not futures:
        together.set_result([])
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for some futures and return their values; raise the first exception among them.

    Parameters
    ----------
    futures : list of Future
        Those to wait for.

    Returns
    -------
    list
        Their values.

    Notes
    -----
    Same as torch.futures.wait_all: https://docs.pytorch.org/docs/2.13/futures.html#torch.futures.wait_all
    """
    return [each.wait() for each in collect_all(futures).wait()]
