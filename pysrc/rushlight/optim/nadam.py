"""NAdam, Adam with Nesterov's momentum."""

from __future__ import annotations

from ._group import GroupOptimizer, decayed, move_moments, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["NAdam", "nadam"]


class NAdam(GroupOptimizer):
    """Implement NAdam: Adam with Nesterov momentum.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 2e-3
        Learning rate; a tensor has one element.
    betas : tuple of 2 floats, default (0.9, 0.999)
        Decay rates of the averages of gradients and of their squares, in [0, 1).
    eps : float, default 1e-8
        Added to the denominator, so that the division stays finite.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    momentum_decay : float, default 4e-3
        How fast the momentum grows: at step t it is ``beta1 * (1 - 0.5 * 0.96**(t * momentum_decay))``.
    decoupled_weight_decay : bool, default False
        Shrink the parameters by ``lr * weight_decay`` instead of adding to the gradient, as `AdamW` does.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.

    Notes
    -----
    Same as torch.optim.NAdam: https://docs.pytorch.org/docs/2.13/generated/torch.optim.NAdam.html

    References
    ----------
    T. Dozat, "Incorporating Nesterov momentum into Adam", 2016,
    https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.8944, -1.8944])
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
