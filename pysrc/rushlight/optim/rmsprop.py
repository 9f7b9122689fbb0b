"""RMSprop, which divides gradients by the root of the mean of their squares."""

from __future__ import annotations

from ._group import GroupOptimizer, downhill, update_each
from ._helpers import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(GroupOptimizer):
    """RMSprop (Hinton, 2012), centered by the variance instead (Graves, 2013), with momentum.

    ``alpha`` is the weight of the old in the means. Raises ValueError for numbers out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html
    """

    _OPERATOR = "rmsprop"
    _CHECKED = ("lr", "eps", "momentum", "weight_decay", "alpha")
    _STATE = {"square_avg": None, "momentum_buffer": "momentum", "grad_avg": "centered"}
    _NUMBERS = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize")
    _ADDED = {"momentum": 0, "centered": False} | GroupOptimizer._ADDED

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        alpha, rate = group["alpha"], _get_value(group["lr"])
        state["step"] += 1
        grad = downhill(param, grad, group)
        squares = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            squares = squares.addcmul(mean, mean, value=-1)
        root = squares.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            velocity = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root)
            param.add_(velocity, alpha=-rate)
        else:
            param.addcdiv_(grad, root, value=-rate)


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Make one step of RMSprop over lists of tensors, which are written. See the class RMSprop."""
    group = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
    group |= {"centered": centered, "maximize": maximize}
    state = {"square_avg": square_avgs, "grad_avg": grad_avgs, "momentum_buffer": momentum_buffer_list}
    update_each(RMSprop._update, params, grads, state | {"step": state_steps}, group)
