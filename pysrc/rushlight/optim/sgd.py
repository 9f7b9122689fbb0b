"""Stochastic gradient descent."""

import rushlight
from rushlight import _C

from .optimizer import Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent with momentum (Polyak or, with nesterov, Nesterov) and weight decay."""

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ) -> None:
        if isinstance(lr, rushlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
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
        super().__init__(params, defaults)
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", False)

    def step(self, closure=None):
        """Change every parameter that has a gradient; ``closure`` computes the loss anew before."""
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if not _C._sgd_step(group, self.state):
                self._step_one_by_one(group)
        return loss

    def _step_one_by_one(self, group) -> None:
        """The first step with momentum, and whatever else the list kernel does not take."""
        with rushlight.set_grad_enabled(group["differentiable"]):
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, group)

    def _update(self, param, group) -> None:
        grad = -param.grad if group["maximize"] else param.grad
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        if group["momentum"] != 0:
            grad = self._with_momentum(param, grad, group)
        lr = group["lr"]
        if isinstance(lr, rushlight.Tensor) and group["differentiable"]:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-(lr.item() if isinstance(lr, rushlight.Tensor) else lr))

    def _with_momentum(self, param, grad, group):
        state, momentum = self.state[param], group["momentum"]
        velocity = state.get("momentum_buffer")
        if velocity is None:
            velocity = grad.detach().clone()
        else:
            velocity.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        state["momentum_buffer"] = velocity
        return grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
