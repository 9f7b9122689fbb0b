"""Names of PyTorch's FX that packages import; wrap() marks functions, and to trace raises.

See https://docs.pytorch.org/docs/2.13/fx.html
"""

from __future__ import annotations

import sys

from rushlight import _exports, _missing
from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # (id of a module's names, name): these names
_side_effects: set[Any] = set()


def wrap(fn_or_name: Any) -> Any:
    """Mark a function of a module that a trace shall call as one step, and return what was given.

    Parameters
    ----------
    fn_or_name : str or function
        The function, or the name by which the module will have it.

    Raises
    ------
    RuntimeError
        If it is neither.
    NotImplementedError
        If it is not called at the top level of a module.

    Notes
    -----
    Same as torch.fx.wrap: https://docs.pytorch.org/docs/2.13/fx.html#torch.fx.wrap

    Examples
    --------
    >>> @torch.fx.wrap
    ... def sizes(x):
    ...     return len(x)
    >>> sizes(torch.ones(3))
    3
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__code__.co_name
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def has_side_effect(fn: Any) -> Any:
    """Mark a function whose call a graph must keep, and return it."""
    _side_effects.add(fn)
    return fn


Graph = _missing.absent_class(__name__, "Graph")
GraphModule = _missing.absent_class(__name__, "GraphModule", Module)
Interpreter = _missing.absent_class(__name__, "Interpreter")
Node = _missing.absent_class(__name__, "Node")
Proxy = _missing.absent_class(__name__, "Proxy")
Tracer = _missing.absent_class(__name__, "Tracer")
Transformer = _missing.absent_class(__name__, "Transformer", Interpreter)
map_arg = _missing.absent_function(__name__, "map_arg")
replace_pattern = _missing.absent_function(__name__, "replace_pattern")
symbolic_trace = _missing.absent_function(__name__, "symbolic_trace")
_exports.publish(globals())
