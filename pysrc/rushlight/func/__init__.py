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
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


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
    """Call a module with other tensors in place of its parameters and buffers; the module stays as it is.

    Parameters
    ----------
    module : Module
        Module to call.
    parameter_and_buffer_dicts : dict of Tensors or sequence of such dicts
        Tensors by name; others are the module's own.
    args : tuple, optional
        Arguments of the module; one argument need not be in a tuple.
    kwargs : dict, optional
        Keyword arguments of the module.
    tie_weights : bool, default True
        Give tied parameters the same tensor.
    strict : bool, default False
        Names must be all those of the module.

    Returns
    -------
    object
        What the module returns.

    Raises
    ------
    ValueError
        If a name occurs in several dicts, or tied parameters get different tensors.
    RuntimeError
        If names are missing or unexpected, with `strict`.

    Notes
    -----
    Same as torch.func.functional_call:
    https://docs.pytorch.org/docs/2.13/generated/torch.func.functional_call.html

    Examples
    --------
    >>> layer = nn.Linear(2, 1)
    >>> tensors = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])}
    >>> torch.func.functional_call(layer, tensors, torch.ones(2))
    tensor([6.])
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
    """Stack the parameters and the buffers of several models of one class, e.g. for an ensemble.

    Parameters
    ----------
    models : iterable of Modules
        Models of one class, all in training or all in evaluation mode.

    Returns
    -------
    tuple of 2 dicts
        Parameters and buffers by name, with a first dimension for the models.

    Raises
    ------
    RuntimeError
        If there is no model or they differ.

    Notes
    -----
    Same as torch.func.stack_module_state:
    https://docs.pytorch.org/docs/2.13/generated/torch.func.stack_module_state.html

    Examples
    --------
    >>> params, buffers = torch.func.stack_module_state([nn.Linear(2, 1) for _ in range(3)])
    >>> {name: tuple(value.shape) for name, value in params.items()}
    {'weight': (3, 1, 2), 'bias': (3, 1)}
    """
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
