"""PyTorch's compiler, as code asks it: nothing is compiled, decorators give back what they get."""

from __future__ import annotations

from rushlight import _exports

from . import backends, config, eval_frame, exc
from .backends import list_backends, lookup_backend, register_backend
from .decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disable_nested_graph_breaks,
    disallow_in_graph,
    dont_skip_tracing,
    error_on_graph_break,
    explain,
    export,
    forbid_in_graph,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    nonstrict_trace,
    patch_dynamo_config,
    replay,
    run,
    set_stance,
    skip_frame,
    step_unsupported,
    substitute_in_graph,
)
from .eval_frame import OptimizedModule, is_dynamo_supported, is_inductor_supported
from .external_utils import is_compiling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "config",
    "disable",
    "disable_nested_graph_breaks",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "eval_frame",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "patch_dynamo_config",
    "register_backend",
    "replay",
    "reset",
    "reset_code_caches",
    "run",
    "set_stance",
    "skip_frame",
    "step_unsupported",
    "substitute_in_graph",
]


def reset() -> None:
    """Forget what was compiled: nothing."""


def reset_code_caches() -> None:
    """Forget what was compiled: nothing."""


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    disable: bool = False,
    dynamic: Any = None,
    **kwargs: Any,
) -> Any:
    """Return a decorator that does what torch.compile() does."""
    return lambda model: eval_frame.compiled(model, backend, None, None, dynamic, disable)


def optimize_assert(backend: Any, **kwargs: Any) -> Any:
    """Return a decorator that does what torch.compile() does."""
    return optimize(backend, **kwargs)


_exports.publish(globals())
