"""Adagrad, whose rates shrink with the sum of squared gradients."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, count, downhill, update_each
from .optimizer import _device_dtype_check_for_fused, _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Adagrad", "adagrad"]


class Adagrad(GroupOptimizer):
    """Implement Adagrad: steps divided by the root of the sum of all squared gradients so far.

    With gradient ``g`` and step count ``t``, a step is::

        s = s + g**2
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-2
        Learning rate; a tensor has one element.
    lr_decay : float, default 0
        How fast the learning rate falls with the number of steps.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    initial_accumulator_value : float, default 0
        What the sums of squares begin with.
    eps : float, default 1e-10
        Added to the denominator, so that the division stays finite.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.
    fused : bool, optional
        Accepted; with True a `GradScaler` leaves the unscaling of gradients to step().

    Raises
    ------
    ValueError
        If `params` is empty or a number is negative.
    RuntimeError
        If `fused` meets `foreach` or `differentiable`.

    Notes
    -----
    Same as torch.optim.Adagrad: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adagrad.html

    References
    ----------
    J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", 2011, https://jmlr.org/papers/v12/duchi11a.html

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    >>> optimizer.state[w]["sum"]
    tensor([ 4., 16.])
    """

    _OPERATOR = "adagrad"
    _CHECKED = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    _STATE = {"sum": None}
    _NUMBERS = ("lr", "lr_decay", "weight_decay", "eps", "maximize")
    _ADDED = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._start(param, self.state[param], group)

    def share_memory(self) -> None:
        """Move the sums to memory that processes share."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _start(self, param, state, group):
        if group["fused"]:
            _device_dtype_check_for_fused(param)
        state["step"] = count(0, group, param)
        first = self.defaults["initial_accumulator_value"]
        state["sum"] = rushlight.full_like(param, first, memory_format=rushlight.preserve_format)

    @staticmethod
    def _update(param, grad, state, group):
        state["step"] += 1
        grad = downhill(param, grad, group)
        rate = group["lr"] / (1 + (_get_value(state["step"]) - 1) * group["lr_decay"])
        root = state["sum"].addcmul_(grad, grad, value=1).sqrt().add(group["eps"])
        param.addcdiv_(grad, root, value=-_get_value(rate))


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Make one step of Adagrad over lists of tensors, which are written. See the class Adagrad."""
    group = {"lr": lr, "weight_decay": weight_decay, "lr_decay": lr_decay, "eps": eps, "maximize": maximize}
    update_each(Adagrad._update, params, grads, {"sum": state_sums, "step": state_steps}, group)
