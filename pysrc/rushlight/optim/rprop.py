"""Rprop, whose steps follow the signs of gradients."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, check_rate, count, update_each
from ._helpers import _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Rprop", "rprop"]


class Rprop(GroupOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993).

    ``etas`` are by what a step is multiplied when the sign of its gradient turns and when it stays; steps are
    kept within ``step_sizes``. Raises ValueError for numbers out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.Rprop.html
    """

    _OPERATOR = "rprop"
    _STATE = {"prev": None, "step_size": None}
    _NUMBERS = ("etas", "step_sizes", "maximize")

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, state, group):
        state["step"] = count(0, group)
        state["prev"] = rushlight.zeros_like(param, memory_format=rushlight.preserve_format)
        state["step_size"] = rushlight.full_like(param, _to_scalar(group["lr"]))

    @staticmethod
    def _update(param, grad, state, group):
        less, more = group["etas"]
        state["step"] += 1
        if group["maximize"]:
            grad = -grad
        turn = grad.mul(state["prev"].clone())
        factor = rushlight.where(
            turn > 0, more, rushlight.where(turn < 0, less, rushlight.where(turn == 0, 1, turn))
        )
        size = state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(turn < 0, 0)
        param.addcmul_(grad.sign(), size.clone() if group["differentiable"] else size, value=-1)
        state["prev"].copy_(grad)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Make one step of Rprop over lists of tensors, which are written. See the class Rprop."""
    group = {"etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max), "maximize": maximize}
    group["differentiable"] = differentiable
    state = {"prev": prevs, "step_size": step_sizes, "step": state_steps}
    update_each(Rprop._update, params, grads, state, group)
