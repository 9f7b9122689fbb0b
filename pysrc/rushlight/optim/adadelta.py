"""Adadelta, whose steps are as large as the last ones were."""

from __future__ import annotations

from ._group import GroupOptimizer, check, check_rate, downhill, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Adadelta", "adadelta"]


class Adadelta(GroupOptimizer):
    """Implement Adadelta: steps scaled by moving averages of squared gradients and of squared steps.

    With gradient ``g``, a step is::

        v = rho * v + (1 - rho) * g**2
        d = g * sqrt(u + eps) / sqrt(v + eps)
        u = rho * u + (1 - rho) * d**2
        p = p - lr * d

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1.0
        Learning rate; a tensor has one element.
    rho : float, default 0.9
        Decay rate of both averages, in [0, 1].
    eps : float, default 1e-6
        Added below both roots; it also sets the size of the first steps.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.

    Notes
    -----
    Same as torch.optim.Adadelta: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adadelta.html

    References
    ----------
    M. Zeiler, "ADADELTA: An adaptive learning rate method", 2012, https://arxiv.org/abs/1212.5701

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.Adadelta([w])
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.9968, -1.9968])
    """

    _OPERATOR = "adadelta"
    _STATE = {"square_avg": None, "acc_delta": None}
    _NUMBERS = ("lr", "rho", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check(eps, "epsilon value")
        check(weight_decay, "weight_decay value")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        rho, eps, steps = group["rho"], group["eps"], state["acc_delta"]
        state["step"] += 1
        grad = downhill(param, grad, group)
        squares = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = steps.add(eps).sqrt().div(squares.add(eps).sqrt()).mul(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-_get_value(group["lr"]))


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Make one step of Adadelta over lists of tensors, which are written. See the class Adadelta."""
    group = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    state = {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps}
    update_each(Adadelta._update, params, grads, state, group)
