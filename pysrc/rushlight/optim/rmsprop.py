"""RMSprop, which divides gradients by the root of the mean of their squares."""

from ._group import GroupOptimizer, downhill, update_each
from ._helpers import _get_value

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(GroupOptimizer):
    """RMSprop (Hinton, 2012), centered by the variance instead (Graves, 2013), with momentum.

    ``alpha`` is the weight of the old in the means. Raises ValueError for numbers out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html
    """

    _OPERATOR = "rmsprop"
    _CHECKED = ("lr", "eps", "momentum", "weight_decay", "alpha")
    _STATE = {"square_avg": None, "momentum_buffer": "momentum", "grad_avg": "centered"}
    _NUMBERS = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize")
    _ADDED = {"momentum": 0, "centered": False} | GroupOptimizer._ADDED

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
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
    params,
    grads,
    square_avgs,
    grad_avgs,
    momentum_buffer_list,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    lr,
    alpha,
    eps,
    weight_decay,
    momentum,
    centered,
):
    """Make one step of RMSprop over lists of tensors, which are written. See the class RMSprop."""
    group = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
    group |= {"centered": centered, "maximize": maximize}
    state = {"square_avg": square_avgs, "grad_avg": grad_avgs, "momentum_buffer": momentum_buffer_list}
    update_each(RMSprop._update, params, grads, state | {"step": state_steps}, group)
