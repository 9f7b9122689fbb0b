"""Gradient descent whose parameters are averaged."""

from __future__ import annotations

from ._group import GroupOptimizer, count, downhill, update_each
from ._helpers import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["ASGD", "asgd"]


class ASGD(GroupOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    The state ``ax`` is the average, from step ``t0`` on; ``lambd`` decays the parameters, and with
    ``alpha`` the rate. Raises ValueError for numbers out of bounds. See
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.ASGD.html
    """

    _OPERATOR = "asgd"
    _CHECKED = ("lr", "weight_decay")
    _STATE = {"ax": None}
    _COUNTS = {"step": 0, "eta": 0, "mu": 1}
    _NUMBERS = ("lr", "lambd", "alpha", "t0", "weight_decay", "maximize")
    _CAPTURABLE = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, state, group):
        super()._start(param, state, group)
        state["eta"] = count(_get_value(group["lr"]), group)

    @staticmethod
    def _update(param, grad, state, group):
        lambd, lr = group["lambd"], _get_value(group["lr"])
        state["step"] += 1
        grad = downhill(param, grad, group)
        eta, mu = _get_value(state["eta"]), _get_value(state["mu"])
        param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        average = state["ax"]
        if mu == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul(mu))
        step = _get_value(state["step"])
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Make one step of ASGD over lists of tensors, which are written. See the class ASGD."""
    group = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
    state = {"ax": axs, "mu": mus, "eta": etas, "step": state_steps}
    update_each(ASGD._update, params, grads, state, group | {"maximize": maximize})
