"""RMSprop, which divides gradients by the root of the mean of their squares."""

from __future__ import annotations

from ._group import GroupOptimizer, downhill, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(GroupOptimizer):
    """Implement RMSprop: steps divided by the root of a moving average of squared gradients.

    With gradient ``g``, a step without momentum is::

        v = alpha * v + (1 - alpha) * g**2
        p = p - lr * g / (sqrt(v) + eps)

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-2
        Learning rate; a tensor has one element.
    alpha : float, default 0.99
        Decay rate of the average of squares.
    eps : float, default 1e-8
        Added to the denominator, so that the division stays finite.
    weight_decay : float, default 0
        Factor of an L2 penalty: this times the parameter is added to the gradient.
    momentum : float, default 0
        Part of the last move that is kept.
    centered : bool, default False
        Divide by the root of the variance: subtract the square of the average gradient from `v`.
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
        If `params` is empty or a number is negative.

    Notes
    -----
    Same as torch.optim.RMSprop: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html

    References
    ----------
    G. Hinton, "Neural networks for machine learning", lecture 6e, 2012,
    https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf

    A. Graves, "Generating sequences with recurrent neural networks", 2013, https://arxiv.org/abs/1308.0850
    (centered)

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01, alpha=0.9)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.9684, -1.9684])
    """

    _OPERATOR = "rmsprop"
    _CHECKED = ("lr", "eps", "momentum", "weight_decay", "alpha")
    _STATE = {"square_avg": None, "momentum_buffer": "momentum", "grad_avg": "centered"}
    _NUMBERS = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize")
    _ADDED = {"momentum": 0, "centered": False} | GroupOptimizer._ADDED

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        alpha, rate = group["alpha"], _get_value(group["lr"])
        state["step"] += 1
        grad = downhill(param, grad, group)
        squares = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            squares = squares.addcmul(mean, mean, value=-1)
        root = squares.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            velocity = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root)
            param.add_(velocity, alpha=-rate)
        else:
            param.addcdiv_(grad, root, value=-rate)


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Make one step of RMSprop over lists of tensors, which are written. See the class RMSprop."""
    group = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
    group |= {"centered": centered, "maximize": maximize}
    state = {"square_avg": square_avgs, "grad_avg": grad_avgs, "momentum_buffer": momentum_buffer_list}
    update_each(RMSprop._update, params, grads, state | {"step": state_steps}, group)
