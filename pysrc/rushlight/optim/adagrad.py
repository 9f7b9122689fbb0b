"""Adagrad, whose rates shrink with the sum of squared gradients."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, count, downhill, update_each
from ._helpers import _device_dtype_check_for_fused, _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Adagrad", "adagrad"]


class Adagrad(GroupOptimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011).

    ``lr_decay`` lowers the rate with each step, ``initial_accumulator_value`` is what the sums begin with.
    The state is there before the first step. Raises ValueError for numbers out of bounds. See
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adagrad.html
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
        state["step"] = count(0, group)
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
