"""Steps of an optimizer on other parameters and other state."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager

import rushlight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.optim import Optimizer

_WHO = "swap_in_optimizer_params_and_state requires"


def _checked_state(saved):
    if not isinstance(saved, dict):
        raise RuntimeError(
            f"{_WHO} swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(saved).__name__}."
        )
    if any(isinstance(key, rushlight.Tensor) for key in saved):
        raise RuntimeError(f"{_WHO} optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(own, dict) for key, own in saved.items()):
        raise RuntimeError(f"{_WHO} per-parameter optimizer state entries to be dictionaries.")
    return saved


def _checked_group(i, group, saved):
    """Return the numbers of the parameters of a saved group, which fits the optimizer's."""
    if not isinstance(saved, dict):
        raise RuntimeError(f"{_WHO} each optimizer param group to be a dictionary.")
    numbers = saved.get("params")
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        raise RuntimeError(
            f"{_WHO} optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
            "parameter ids."
        )
    if len(group["params"]) != len(numbers):
        raise RuntimeError(
            f"swapin_optim_state param group {i} has a different number of "
            "params than the live optimizer param group."
        )
    only = [key for key in saved if key not in group], [key for key in group if key not in saved]
    if any(only):
        raise RuntimeError(
            f"{_WHO} optimizer.state_dict()-style param group keys to exactly match the live optimizer group "
            f"keys for group {i}. Keys only in swap-in: {only[0]}. Keys only in live: {only[1]}."
        )
    return numbers


def _checked(optimizer, parameters, saved):
    """Return the new groups and the new state; nothing of the optimizer is changed."""
    if not optimizer.state:
        raise RuntimeError(f"{_WHO} initialized optimizer state.")
    if not isinstance(saved, dict):
        raise RuntimeError(f"{_WHO} a DCP-style optimizer state_dict.")
    saved_state, saved_groups = _checked_state(saved.get("state")), saved.get("param_groups")
    if not isinstance(saved_groups, list):
        raise RuntimeError(
            f"{_WHO} swapin_optim_state['param_groups'] to be a list of param-group dicts, "
            f"got {type(saved_groups).__name__}."
        )
    if len(optimizer.param_groups) != len(saved_groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    left, groups, state, seen = list(parameters.values()), [], defaultdict(dict), set()
    for i, (group, saved_group) in enumerate(zip(optimizer.param_groups, saved_groups, strict=True)):
        numbers = _checked_group(i, group, saved_group)
        own, left = left[: len(numbers)], left[len(numbers) :]
        if len(own) != len(numbers):
            raise RuntimeError(
                f"{_WHO} the explicit parameter state to match optimizer.param_groups ordering."
            )
        groups.append({**saved_group, "params": own})
        state.update((p, dict(saved_state.get(n, {}))) for p, n in zip(own, numbers, strict=True))
        seen.update(numbers)
    extra = [key for key in saved_state if key not in seen]
    if extra:
        raise RuntimeError(
            f"{_WHO} swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return groups, state


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Any:
    """Let an optimizer work on other parameters and state within a context, for functional training steps.

    Tensors of both are changed in place; new entries of the state are dropped at the end.

    Parameters
    ----------
    optimizer : Optimizer
        Optimizer, which has made a step.
    swapin_parameters : dict of Tensors
        Parameters by name, in the order of the optimizer's.
    swapin_optim_state : dict
        State as state_dict() returns it.

    Raises
    ------
    RuntimeError
        If they do not fit; nothing is changed then.

    Notes
    -----
    Same as torch.optim.swap_in_optimizer_params_and_state: https://docs.pytorch.org/docs/2.13/optim.html

    Examples
    --------
    >>> model = nn.Linear(1, 1, bias=False)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> model(torch.ones(1, 1)).sum().backward()
    >>> optimizer.step()
    >>> other = nn.Parameter(torch.ones(1, 1))
    >>> other.grad = torch.ones(1, 1)
    >>> with torch.optim.swap_in_optimizer_params_and_state(
    ...     optimizer, {"weight": other}, {**optimizer.state_dict(), "state": {0: {"momentum_buffer": None}}}
    ... ):
    ...     optimizer.step()
    >>> other.detach()
    tensor([[0.9000]])
    """
    groups, state = _checked(optimizer, swapin_parameters, swapin_optim_state)
    before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        for group, new in zip(optimizer.param_groups, groups, strict=True):
            group.update(new)
        optimizer.state = state
        yield
    finally:
        optimizer.state, own = before
        for group, old in zip(optimizer.param_groups, own, strict=True):
            group.clear()
            group.update(old)
