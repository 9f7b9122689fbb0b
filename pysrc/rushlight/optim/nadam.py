"""NAdam, Adam with Nesterov's momentum."""

from __future__ import annotations

from ._group import GroupOptimizer, decayed, move_moments, update_each
from ._helpers import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["NAdam", "nadam"]


class NAdam(GroupOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    ``momentum_decay`` says how the momentum grows with the steps. Raises ValueError for numbers out of
    bounds. See https://docs.pytorch.org/docs/2.13/generated/torch.optim.NAdam.html
    """

    _OPERATOR = "nadam"
    _CHECKED = ("lr", "eps", "betas", "weight_decay", "momentum_decay")
    _STATE = {"exp_avg": None, "exp_avg_sq": None}
    _COUNTS = {"step": 0, "mu_product": 1}
    _NUMBERS = (
        *("lr", "betas", "eps", "weight_decay", "momentum_decay"),
        *("decoupled_weight_decay", "maximize"),
    )
    _ADDED = {
        **{"maximize": False, "foreach": None, "capturable": False},
        **{"differentiable": False, "decoupled_weight_decay": False},
    }
    _CAPTURABLE = "params, mu_products and state_steps"

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        lr, (beta1, beta2), fade = _get_value(group["lr"]), group["betas"], group["momentum_decay"]
        state["step"] += 1
        step = _get_value(state["step"])
        grad = decayed(param, grad, group, lr)
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (t * fade)) for t in (step, step + 1))
        state["mu_product"] *= mu
        product = _get_value(state["mu_product"])
        mean, squares = move_moments(state, grad, beta1, beta2)
        root = squares.div(1 - beta2**step).sqrt().add(group["eps"])
        if group["differentiable"]:  # what later steps write into must be copied
            mean = mean.clone()
        param.addcdiv_(grad, root, value=-lr * (1.0 - mu) / (1.0 - product))
        param.addcdiv_(mean, root, value=-lr * mu_next / (1.0 - product * mu_next))


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Make one step of NAdam over lists of tensors, which are written. See the class NAdam."""
    group = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    group |= {"momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay}
    group["differentiable"] = differentiable
    state = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "mu_product": mu_products, "step": state_steps}
    update_each(NAdam._update, params, grads, state, group)
