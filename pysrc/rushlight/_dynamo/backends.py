"""Names of the backends of torch.compile: all of them run Python here."""

from __future__ import annotations

from .exc import InvalidBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_TAGS: dict[str, tuple[str, ...]] = dict.fromkeys(("cudagraphs", "inductor", "openxla", "tvm"), ())
_TAGS |= dict.fromkeys(
    (
        "aot_eager aot_eager_decomp_partition aot_eager_default_partitioner aot_ts eager eager_debug "
        "eager_noexcept invoke_subgraph pre_dispatch_eager ts"
    ).split(),
    ("debug",),
)
_TAGS |= {"openxla_eval": ("experimental",)}
_functions: dict[str, Callable[..., Any]] = {}
_default: list[Any] = ["inductor"]


def _run(gm: Any, example_inputs: Any, **kwargs: Any) -> Any:
    """Return the callable that a backend would compile."""
    return gm


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Give a function a name that torch.compile() takes as its backend; it is never called.

    Raises
    ------
    AssertionError
        If it cannot be called, or the name is taken.
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in _functions:
        raise AssertionError(f"duplicate name: {name}")
    _functions[name], _TAGS[name] = compiler_fn, tuple(tags)
    return compiler_fn


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Return the names that torch.compile() takes as its backend, without those of some kinds."""
    excluded = set(exclude_tags or ())
    return sorted(name for name, tags in _TAGS.items() if not excluded & set(tags))


def lookup_backend(compiler_fn: Any) -> Any:
    """Return the backend of a name, or the function itself.

    Raises
    ------
    InvalidBackend
        If there is none of this name.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _TAGS:
        raise InvalidBackend(compiler_fn)
    return _functions.get(compiler_fn, _run)


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend where torch.compile() is told none; None: the usual one.

    Raises
    ------
    TypeError
        If it is no str and cannot be called.
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _default[0] = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """Return the backend where torch.compile() is told none."""
    return _default[0]
