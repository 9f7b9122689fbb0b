"""TorchScript without a compiler: what it would compile runs as Python.

``script`` and ``trace`` give objects of PyTorch's kinds, which behave as those do: another module with the
same parameters and buffers, whose ``training`` and attributes are its own.

See https://docs.pytorch.org/docs/2.13/jit.html
"""

from __future__ import annotations

import warnings

from rushlight import _exports
from rushlight._jit_internal import (  # noqa: F401
    Final,
    _drop,
    _IgnoreContextManager,
    _isinstance,
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)

from ._async import Future, fork, wait
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ._fuser import (
    enable_onednn_fusion,
    fuser,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
)
from ._script import (  # noqa: F401
    Attribute,
    CompilationUnit,
    Error,
    RecursiveScriptClass,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    _unwrap_optional,
    export_opnames,
    interface,
    script,
    script_method,
)
from ._serialization import jit_module_from_flatbuffer, load, save, save_jit_module_to_flatbuffer
from ._trace import (
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    _script_if_tracing,
    is_tracing,
    trace,
    trace_module,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "jit_module_from_flatbuffer",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "save_jit_module_to_flatbuffer",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
_fork, _wait, _set_fusion_strategy = fork, wait, set_fusion_strategy


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; the type is for a compiler.

    Notes
    -----
    Same as torch.jit.annotate: https://docs.pytorch.org/docs/2.13/generated/torch.jit.annotate.html
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether an object is of a type, where list[int] and its like are types, too.

    Parameters
    ----------
    obj : object
        The object.
    target_type : type or tuple of types
        Types of Python, or list, dict, tuple and Optional with what they contain.

    Raises
    ------
    RuntimeError
        If a container does not say what it contains.

    Notes
    -----
    Same as torch.jit.isinstance: https://docs.pytorch.org/docs/2.13/generated/torch.jit.isinstance.html

    Examples
    --------
    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    return _isinstance(obj, target_type)


def script_if_tracing(fn: Any) -> Any:
    """Return a function that does the same: nothing is traced.

    Notes
    -----
    Same as torch.jit.script_if_tracing:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.script_if_tracing.html
    """
    return _script_if_tracing(fn)


class strict_fusion:
    """A context that would demand fusion of what TorchScript runs; Python warns, as PyTorch does there.

    Notes
    -----
    Same as torch.jit.strict_fusion: https://docs.pytorch.org/docs/2.13/generated/torch.jit.strict_fusion.html
    """

    def __init__(self) -> None:
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        pass


del annotations  # that of __future__: the module of this name is imported when it is asked for
_exports.publish(globals())
