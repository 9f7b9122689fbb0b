"""What code asks about compilation: nothing is ever compiled, Python always runs.

See https://docs.pytorch.org/docs/2.13/torch.compiler_api.html
"""

from __future__ import annotations

from rushlight import _exports, _missing
from rushlight._dynamo.backends import get_default_backend, list_backends, set_default_backend
from rushlight._dynamo.decorators import (  # noqa: F401
    _disable_dynamo,
    allow_in_graph,
    assume_constant_result,
    disable,
    set_stance,
    substitute_in_graph,
)
from rushlight._settings import compile

from . import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]
_collectives = [False]


def is_compiling() -> bool:
    """Whether the code runs inside of torch.compile() or torch.export(): never."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether it runs inside of TorchDynamo: never."""
    return False


def is_exporting() -> bool:
    """Whether it runs inside of torch.export(): never."""
    return False


def reset() -> None:
    """Forget what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Say that another iteration begins: there are no CUDA graphs."""


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """Return the function as it is; without one, a decorator that does so."""
    return nested_compile_region if fn is None else fn


def wrap_numpy(fn: Any) -> Any:
    """Make of a function of NumPy's arrays one of tensors.

    Parameters
    ----------
    fn : callable
        What takes arrays, and gives arrays.

    Returns
    -------
    callable
        What takes tensors, and gives tensors.

    Notes
    -----
    Same as torch.compiler.wrap_numpy:
    https://docs.pytorch.org/docs/2.13/generated/torch.compiler.wrap_numpy.html

    Examples
    --------
    >>> torch.compiler.wrap_numpy(lambda x: x * 2)(torch.ones(2))
    tensor([2., 2.])
    """
    from functools import wraps

    from rushlight._C import Tensor, from_numpy

    def change(value, function):
        if isinstance(value, dict):
            return {key: change(each, function) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(change(each, function) for each in value)
        return function(value)

    def to_array(value):
        return value.numpy() if isinstance(value, Tensor) else value

    def to_tensor(value):
        return from_numpy(value) if type(value).__module__ == "numpy" else value

    @wraps(fn)
    def wrapped(*args, **kwargs):
        return change(fn(*change(args, to_array), **change(kwargs, to_array)), to_tensor)

    return wrapped


# ---- what was compiled, kept ----
def save_cache_artifacts() -> Any:
    """Return what was compiled, as bytes: None, as PyTorch where nothing was."""
    return None


def load_cache_artifacts(serialized_artifacts: bytes) -> Any:
    """Take what was compiled elsewhere: nothing is taken, the answer is None."""
    return None


load_compiled_function = _missing.absent_function(__name__, "load_compiled_function")


# ---- what a compiler would check before it runs something again ----
def set_enable_guard_collectives(enabled: bool) -> bool:
    """Keep a switch, and return what it was: there are no guards."""
    before, _collectives[0] = _collectives[0], enabled
    return before


def keep_portable_guards_unsafe(guard_entries: Any) -> list[bool]:
    """Say of each guard whether to keep it; there are none."""
    return [True for _ in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
    """Say of each guard whether to keep it; there are none."""
    return [True for _ in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Any) -> list[bool]:
    """Say of each guard whether to keep it; there are none."""
    return [True for _ in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Any) -> list[bool]:
    """Say of each guard whether to keep it; there are none."""
    return [True for _ in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Any) -> list[bool]:
    """Say of each guard whether to keep it; there are none."""
    return [True for _ in guard_entries]


def skip_all_guards_unsafe(guard_entries: Any) -> list[bool]:
    """Say of each guard not to keep it; there are none."""
    return [False for _ in guard_entries]


_exports.publish(globals())
