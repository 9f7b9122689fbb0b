"""Adamax, Adam by the largest gradient."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, downhill, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Adamax", "adamax"]


class Adamax(GroupOptimizer):
    """Implement Adamax: Adam by the infinity norm, with steps divided by the largest recent gradient.

    With gradient ``g`` and step count ``t``, a step is::

        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        p = p - lr / (1 - beta1**t) * m / u

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 2e-3
        Learning rate; a tensor has one element.
    betas : tuple of 2 floats, default (0.9, 0.999)
        Decay rates of the average of gradients and of the largest one, in [0, 1).
    eps : float, default 1e-8
        Added to the size of the gradient, so that the division stays finite.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.

    Notes
    -----
    Same as torch.optim.Adamax: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adamax.html

    References
    ----------
    D. Kingma, J. Ba, "Adam: A method for stochastic optimization", 2015, section 7.1,
    https://arxiv.org/abs/1412.6980

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    _OPERATOR = "adamax"
    _CHECKED = ("lr", "eps", "betas", "weight_decay")
    _STATE = {"exp_avg": None, "exp_inf": None}
    _NUMBERS = ("lr", "betas", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        grad = downhill(param, grad, group)
        mean, largest = state["exp_avg"].lerp_(grad, 1 - beta1), state["exp_inf"].mul_(beta2)
        largest.copy_(rushlight.maximum(largest.clone(), grad.abs().add(group["eps"])))
        rate = group["lr"] / (1 - beta1 ** _get_value(state["step"]))
        if group["differentiable"]:  # what later steps write into must be copied
            mean, largest = mean.clone(), largest.clone()
        param.addcdiv_(mean, largest, value=-_get_value(rate))


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """Make one step of Adamax over lists of tensors, which are written. See the class Adamax."""
    group = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    group["differentiable"] = differentiable
    state = {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps}
    update_each(Adamax._update, params, grads, state, group)
