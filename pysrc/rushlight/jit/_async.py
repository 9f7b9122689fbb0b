"""fork and wait: what TorchScript would run beside the program runs at once."""

from __future__ import annotations

from rushlight.futures import Future

from ._state import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_INSTEAD = "Please use `torch.compile` instead."


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Run a function, and return a Future of its answer.

    Notes
    -----
    Same as torch.jit.fork outside of TorchScript, where the function runs at once, too:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.fork.html
    """
    deprecated("fork", _INSTEAD)
    future: Future[Any] = Future()
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
