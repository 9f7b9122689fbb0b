"""Adam, which divides a mean of gradients by the root of a mean of their squares."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, check, check_betas, check_rate, decayed, move_moments, update_each
from ._helpers import _device_dtype_check_for_fused, _dispatch_sqrt, _get_value, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Adam", "adam"]


def _check_betas(betas, foreach, capturable):
    tensors = [isinstance(beta, rushlight.Tensor) for beta in betas]
    if not (all(tensors) or all(isinstance(beta, float) for beta in betas)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas if all(tensors) else ()):
        if foreach and not capturable:
            raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(GroupOptimizer):
    """Adaptive moments (Kingma and Ba, 2015), with amsgrad those that never shrink (Reddi et al., 2018).

    ``betas`` are the weights of the old in the means of gradients and of squares, ``eps`` keeps the division
    finite, ``weight_decay`` is added to gradients or, with ``decoupled_weight_decay``, taken from parameters.
    Raises ValueError for numbers out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adam.html
    """

    _OPERATOR = "adam"
    _STATE = {"exp_avg": None, "exp_avg_sq": None, "max_exp_avg_sq": "amsgrad"}
    _NUMBERS = ("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "decoupled_weight_decay")
    _ADDED = {
        **dict.fromkeys(("amsgrad", "maximize"), False),
        **{"foreach": None, "capturable": False, "differentiable": False},
        **{"decoupled_weight_decay": False, "fused": None},
    }

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr, foreach, capturable)
        check(eps, "epsilon value")
        check_betas(betas)
        check(weight_decay, "weight_decay value")
        _check_betas(betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": tuple(map(_to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        self._allow_fused(fused, foreach, differentiable)

    def _start(self, param, state, group):
        if group["fused"]:
            _device_dtype_check_for_fused(param)
        super()._start(param, state, group)

    @staticmethod
    def _update(param, grad, state, group):
        _refuse_unusual(state, group)
        lr, (beta1, beta2) = _to_scalar(group["lr"]), map(_to_scalar, group["betas"])
        state["step"] += 1
        grad = decayed(param, grad, group, lr)
        mean, squares = move_moments(state, grad, beta1, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            squares = largest.copy_(rushlight.maximum(largest.clone(), squares.clone()))
        # a history keeps the count as a tensor, and what later steps write into must be copied
        differentiable = group["differentiable"]
        step = state["step"].clone() if differentiable else state["step"].item()
        rate, root = lr / (1 - beta1**step), _dispatch_sqrt(1 - beta2**step)
        if differentiable:
            param.addcdiv_(mean.clone(), squares.sqrt() / (root * -rate) + group["eps"] / -rate)
        else:
            param.addcdiv_(mean, (squares.sqrt() / root).add_(group["eps"]), value=-_get_value(rate))


def _refuse_unusual(state, group):
    if group["differentiable"] and state["step"].requires_grad:
        raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
    if group["foreach"] and isinstance(group["lr"], rushlight.Tensor) and not group["capturable"]:
        raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Make one step of Adam over lists of tensors, which are written. See the class Adam."""
    group = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    group |= {"amsgrad": amsgrad, "decoupled_weight_decay": decoupled_weight_decay}
    group |= {"foreach": foreach, "capturable": capturable, "differentiable": differentiable}
    state = {
        "exp_avg": exp_avgs,
        "exp_avg_sq": exp_avg_sqs,
        "max_exp_avg_sq": max_exp_avg_sqs,
        "step": state_steps,
    }
    update_each(Adam._update, params, grads, state, group)
