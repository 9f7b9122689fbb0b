"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight
from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor

__all__ = ["functional_call", "stack_module_state"]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


def _join(dicts):
    """One dict of several, which must not share a name."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: tensor for d in dicts for name, tensor in d.items()}


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call the module with these tensors in place of its parameters and buffers, by name.

    ``args`` is a tuple, or one argument. What is tied in the module follows when one of its names is given;
    ``strict`` demands exactly the module's names. The module itself stays as it is.
    """
    from rushlight.nn.utils import stateless

    given = _join(parameter_and_buffer_dicts)
    return stateless._functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _stack(tensors, name):
    demands = {t.requires_grad for t in tensors}
    if len(demands) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    stacked = rushlight.stack(list(tensors))
    return stacked.detach().requires_grad_() if demands == {True} else stacked


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one class, each name's tensors stacked."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(walks):
        dicts = [dict(walk) for walk in walks]
        return {name: _stack([d[name] for d in dicts], name) for name in dicts[0]}

    return stacked(m.named_parameters() for m in models), stacked(m.named_buffers() for m in models)
