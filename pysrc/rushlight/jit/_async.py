"""fork and wait: what TorchScript would run beside the program runs at once."""

from __future__ import annotations

from ._state import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_INSTEAD = "Please use `torch.compile` instead."


class Future:
    """What a function has answered, or raised.

    Notes
    -----
    Same as torch.jit.Future: https://docs.pytorch.org/docs/2.13/futures.html
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []

    def _finish(self, value=None, error=None):
        if self._is_done:
            raise RuntimeError("Future can only be marked completed once")
        self._is_done, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def done(self) -> bool:
        """Return whether there is an answer."""
        return self._is_done

    def wait(self) -> Any:
        """Return the answer, or raise what the function raised."""
        return self.value()

    def value(self) -> Any:
        """Return the answer, or raise what the function raised.

        Raises
        ------
        RuntimeError
            If there is none yet: nobody else runs who could give one.
        """
        if not self._is_done:
            raise RuntimeError("the future is not completed, and nothing runs that could complete it")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Give the answer, once."""
        self._finish(result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this object when there is an answer, which may be now."""
        if self._is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a Future of what a function will make of this one."""
        following = Future()

        def go_on(future):
            try:
                answer = callback(future)
            except Exception as error:
                following._finish(error=error)
            else:
                following._finish(answer)

        self.add_done_callback(go_on)
        return following


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Run a function, and return a Future of its answer.

    Notes
    -----
    Same as torch.jit.fork outside of TorchScript, where the function runs at once, too:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.fork.html
    """
    deprecated("fork", _INSTEAD)
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """Return the answer of a Future.

    Notes
    -----
    Same as torch.jit.wait: https://docs.pytorch.org/docs/2.13/generated/torch.jit.wait.html
    """
    deprecated("wait", _INSTEAD)
    return future.wait()
