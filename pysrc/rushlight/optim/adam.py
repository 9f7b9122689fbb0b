"""Adam, which divides a mean of gradients by the root of a mean of their squares."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, check, check_betas, check_rate, decayed, move_moments, update_each
from .optimizer import _device_dtype_check_for_fused, _dispatch_sqrt, _get_value, _to_scalar

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
    """Implement Adam: steps scaled by moving averages of the gradients and of their squares.

    With gradient ``g`` and step count ``t``, a step is::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-3
        Learning rate; a tensor has one element.
    betas : tuple of 2 floats, default (0.9, 0.999)
        Decay rates of the averages of gradients and of their squares, in [0, 1).
    eps : float, default 1e-8
        Added to the denominator, so that the division stays finite.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    amsgrad : bool, default False
        AMSGrad: divide by the largest average of squares so far.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.
    fused : bool, optional
        Accepted; with True a `GradScaler` leaves the unscaling of gradients to step().
    decoupled_weight_decay : bool, default False
        Shrink the parameters by ``lr * weight_decay`` instead of adding to the gradient, as `AdamW` does.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.
    RuntimeError
        If `fused` meets `foreach` or `differentiable`.

    Notes
    -----
    Same as torch.optim.Adam: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adam.html

    References
    ----------
    D. Kingma, J. Ba, "Adam: A method for stochastic optimization", 2015, https://arxiv.org/abs/1412.6980

    S. Reddi, S. Kale, S. Kumar, "On the convergence of Adam and beyond", 2018,
    https://arxiv.org/abs/1904.09237

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> for epoch in range(3):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([ 0.7016, -1.7006])
    >>> sorted(optimizer.state[w])
    ['exp_avg', 'exp_avg_sq', 'step']
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
