"""Stochastic gradient descent."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, check, check_rate, downhill, update_each
from .optimizer import _get_value, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["SGD", "sgd"]


class SGD(GroupOptimizer):
    """Implement stochastic gradient descent (SGD) with momentum, Nesterov momentum and weight decay.

    With gradient ``g``, a step is (but for ``v = g`` in the first one)::

        g = g + weight_decay * p
        v = momentum * v + (1 - dampening) * g
        p = p - lr * v                      # with nesterov: p - lr * (g + momentum * v)

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-3
        Learning rate; a tensor has one element.
    momentum : float, default 0
        Part of the last move that is kept; 0 keeps no state.
    dampening : float, default 0
        Part of the gradient that does not enter the momentum.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    nesterov : bool, default False
        Nesterov momentum: look ahead by one move. Needs `momentum` and no `dampening`.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.
    fused : bool, optional
        Accepted; with True a `GradScaler` leaves the unscaling of gradients to step().

    Raises
    ------
    ValueError
        If `params` is empty, a number is negative, or `nesterov` lacks `momentum` or meets `dampening`.
    RuntimeError
        If `fused` meets `foreach` or `differentiable`.

    Notes
    -----
    Same as torch.optim.SGD: https://docs.pytorch.org/docs/2.13/generated/torch.optim.SGD.html

    References
    ----------
    I. Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013,
    https://proceedings.mlr.press/v28/sutskever13.html

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> x, y = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    >>> for epoch in range(200):
    ...     optimizer.zero_grad()
    ...     loss = F.mse_loss(model(x), y)
    ...     loss.backward()
    ...     optimizer.step()
    >>> loss.item() < 1e-3
    True
    """

    _OPERATOR = "sgd"
    _STATE = {"momentum_buffer": "momentum"}
    _COUNTS = {}
    _NUMBERS = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
    _ADDED = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check(momentum, "momentum value")
        check(weight_decay, "weight_decay value")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)

    def _start(self, param, state, group):
        """Leave it empty: the first gradient becomes the momentum."""

    def _move_state(self, group, pairs):
        """Without dampening, momentum that begins with 0 comes to the same as one that begins with the first
        gradient; and nobody need know whether the first step happens."""
        if group["momentum"] != 0 and group["dampening"] == 0:
            for param, _ in pairs:
                if self.state[param].get("momentum_buffer") is None:
                    velocity = rushlight.zeros_like(param, memory_format=rushlight.preserve_format)
                    self.state[param]["momentum_buffer"] = velocity

    @staticmethod
    def _update(param, grad, state, group):
        grad = downhill(param, grad, group)
        momentum, lr = group["momentum"], _to_scalar(group["lr"])
        if momentum != 0:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = grad.detach().clone()
            else:
                velocity.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            state["momentum_buffer"] = velocity
            grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
        if isinstance(lr, rushlight.Tensor) and lr.requires_grad:
            grad = grad.clone()  # later steps write into the momentum
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-_get_value(lr))


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Make one step of SGD over lists of tensors, which are written. See the class SGD."""
    group = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "dampening": dampening}
    group |= {"nesterov": nesterov, "maximize": maximize}
    update_each(SGD._update, params, d_p_list, {"momentum_buffer": momentum_buffer_list}, group)
