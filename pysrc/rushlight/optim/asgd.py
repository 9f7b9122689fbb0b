"""Gradient descent whose parameters are averaged."""

from __future__ import annotations

from ._group import GroupOptimizer, count, downhill, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["ASGD", "asgd"]


class ASGD(GroupOptimizer):
    """Implement averaged stochastic gradient descent (ASGD).

    Steps are those of gradient descent with a falling learning rate,
    ``eta = lr / (1 + lambd * lr * t)**alpha``; ``optimizer.state[p]["ax"]`` is the average of the parameter
    over the steps from `t0` on.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-2
        Learning rate; a tensor has one element.
    lambd : float, default 1e-4
        Decay: a step multiplies the parameter by ``1 - lambd * eta``.
    alpha : float, default 0.75
        Power by which the learning rate falls.
    t0 : float, default 1e6
        Step at which the averaging begins; before, the average is the parameter.
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
        If `params` is empty, or `lr` or `weight_decay` is negative.

    Notes
    -----
    Same as torch.optim.ASGD: https://docs.pytorch.org/docs/2.13/generated/torch.optim.ASGD.html

    References
    ----------
    B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging", 1992,
    https://doi.org/10.1137/0330046

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.ASGD([w], lr=0.1, t0=0)
    >>> for epoch in range(3):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([ 0.5120, -1.0240])
    >>> optimizer.state[w]["ax"]
    tensor([ 0.5760, -1.1520])
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
        state["eta"] = count(_get_value(group["lr"]), group, param)

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
