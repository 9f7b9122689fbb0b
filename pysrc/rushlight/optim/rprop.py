"""Rprop, whose steps follow the signs of gradients."""

from __future__ import annotations

import rushlight

from ._group import GroupOptimizer, check_rate, count, update_each
from .optimizer import _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["Rprop", "rprop"]


class Rprop(GroupOptimizer):
    """Implement resilient backpropagation (Rprop): each element has a step size of its own.

    Only the sign of the gradient counts. While it stays, the step size grows by ``etas[1]``; when it turns,
    the step size shrinks by ``etas[0]`` and that element does not move. Made for full batches.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-2
        First step size; a tensor has one element.
    etas : tuple of 2 floats, default (0.5, 1.2)
        Factors that shrink and grow the step sizes; the first is in (0, 1), the second above 1.
    step_sizes : tuple of 2 floats, default (1e-6, 50)
        Smallest and largest step size.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
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
    Same as torch.optim.Rprop: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Rprop.html

    References
    ----------
    M. Riedmiller, H. Braun, "A direct adaptive method for faster backpropagation learning: the RPROP
    algorithm", 1993, https://doi.org/10.1109/ICNN.1993.298623

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> for epoch in range(2):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([ 0.7800, -1.7800])
    """

    _OPERATOR = "rprop"
    _STATE = {"prev": None, "step_size": None}
    _NUMBERS = ("etas", "step_sizes", "maximize")

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, state, group):
        state["step"] = count(0, group, param)
        state["prev"] = rushlight.zeros_like(param, memory_format=rushlight.preserve_format)
        state["step_size"] = rushlight.full_like(param, _to_scalar(group["lr"]))

    @staticmethod
    def _update(param, grad, state, group):
        less, more = group["etas"]
        state["step"] += 1
        if group["maximize"]:
            grad = -grad
        turn = grad.mul(state["prev"].clone())
        factor = rushlight.where(
            turn > 0, more, rushlight.where(turn < 0, less, rushlight.where(turn == 0, 1, turn))
        )
        size = state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(turn < 0, 0)
        param.addcmul_(grad.sign(), size.clone() if group["differentiable"] else size, value=-1)
        state["prev"].copy_(grad)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Make one step of Rprop over lists of tensors, which are written. See the class Rprop."""
    group = {"etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max), "maximize": maximize}
    group["differentiable"] = differentiable
    state = {"prev": prevs, "step_size": step_sizes, "step": state_steps}
    update_each(Rprop._update, params, grads, state, group)
