"""RAdam, Adam that waits until the variance of gradients is known."""

from __future__ import annotations

from ._group import GroupOptimizer, decayed, move_moments, update_each
from .optimizer import _get_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["RAdam", "radam"]


def _rectified(step, beta2):
    """Return by what the variance scales the rate; None while it is not tractable."""
    most = 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5.0:
        return None
    return ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5


class RAdam(GroupOptimizer):
    """Implement RAdam: Adam whose adaptive scale is rectified while its variance is large.

    During the first steps, as long as the average of squares rests on too few gradients, a step is one of
    plain momentum; afterwards it is Adam's, shortened by a factor that tends to 1.

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
    decoupled_weight_decay : bool, default False
        Shrink the parameters by ``lr * weight_decay`` instead of adding to the gradient, as `AdamW` does.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.

    Notes
    -----
    Same as torch.optim.RAdam: https://docs.pytorch.org/docs/2.13/generated/torch.optim.RAdam.html

    References
    ----------
    L. Liu et al., "On the variance of the adaptive learning rate and beyond", 2020,
    https://arxiv.org/abs/1908.03265

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.8000, -1.6000])
    """

    _OPERATOR = "radam"
    _CHECKED = ("lr", "eps", "betas", "weight_decay")
    _STATE = {"exp_avg": None, "exp_avg_sq": None}
    _NUMBERS = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")
    _ADDED = {
        **{"foreach": None, "maximize": False, "differentiable": False},
        **{"decoupled_weight_decay": False, "capturable": False},
    }

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _update(param, grad, state, group):
        lr, (beta1, beta2) = group["lr"], group["betas"]
        state["step"] += 1
        step = _get_value(state["step"])
        grad = decayed(param, grad, group, lr)
        mean, squares = move_moments(state, grad, beta1, beta2)
        update = mean / (1 - beta1**step) * lr
        rectified = _rectified(step, beta2)
        if rectified is not None:
            root = squares.sqrt().add(group["eps"])
            update = update * ((1 - beta2**step) ** 0.5 / root) * rectified
        param.add_(update, alpha=-1.0)


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """Make one step of RAdam over lists of tensors, which are written. See the class RAdam."""
    group = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    group["decoupled_weight_decay"] = decoupled_weight_decay
    state = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps}
    update_each(RAdam._update, params, grads, state, group)
