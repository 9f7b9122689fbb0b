"""Adafactor, which keeps the squares of a matrix's gradients as one row and one column."""

from __future__ import annotations

import rushlight

from ._group import require
from .optimizer import Optimizer, _get_scalar_dtype, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from rushlight._C import Tensor

    from .optimizer import _Loss

__all__ = ["Adafactor", "adafactor"]
_OPTIONS = ("lr", "beta2_decay", "d", "weight_decay", "foreach", "maximize")


class Adafactor(Optimizer):
    """Implement Adafactor: adaptive steps with little memory, by rows and columns of squared gradients.

    For a matrix the averages of squares are kept as one vector for its rows and one for its columns. The step
    is relative to the size of the parameter.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-2
        Largest step, relative to the root mean square of a parameter, and the scale of the weight decay.
    beta2_decay : float, default -0.8
        The average of squares takes ``t**beta2_decay`` of the new ones at step t; at most 0.
    eps : tuple of (float or None, float), default (None, 1e-3)
        Smallest average of squares (None: the eps of the dtype), and smallest size of a parameter.
    d : float, default 1.0
        Updates whose root mean square is larger are scaled down to it; at least 1.
    weight_decay : float, default 0.0
        Weight decay: a step multiplies the parameters by ``1 - lr * weight_decay``.
    foreach : bool, optional
        Accepted; changes nothing.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.

    Notes
    -----
    Same as torch.optim.Adafactor: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adafactor.html

    References
    ----------
    N. Shazeer, M. Stern, "Adafactor: Adaptive learning rates with sublinear memory cost", 2018,
    https://arxiv.org/abs/1804.04235

    Examples
    --------
    >>> w = nn.Parameter(torch.ones(4, 3))
    >>> optimizer = torch.optim.Adafactor([w])
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> {name: tuple(value.shape) for name, value in optimizer.state[w].items()}
    {'step': (), 'row_var': (4, 1), 'col_var': (1, 3)}
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, rushlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        require(0.0 <= lr, "Learning rate should be >= 0", lr)
        require(0.0 >= beta2_decay, "beta2_decay should be <= 0", beta2_decay)
        require(eps[0] is None or 0.0 <= eps[0], "epsilon1 should be >= 0", eps[0])
        require(0.0 <= eps[1], "epsilon2 should be >= 0", eps[1])
        require(1.0 <= d, "Clipping threshold d should be >= 1", d)
        require(0.0 <= weight_decay, "weight_decay should be >= 0", weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                own = self.state.get(p)
                if own and not isinstance(own["step"], rushlight.Tensor):
                    own["step"] = rushlight.tensor(float(own["step"]), dtype=_get_scalar_dtype())

    def _init_group(self, group, params_with_grad, grads, row_vars, col_vars, variances, state_steps):
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            state = self.state[p]
            if not state:
                _start(state, p.grad)
            params_with_grad.append(p)
            grads.append(p.grad)
            row_vars.append(state.get("row_var"))
            col_vars.append(state.get("col_var"))
            variances.append(state.get("variance"))
            state_steps.append(state["step"])
        return False  # none is complex

    @rushlight.no_grad()
    def step(self, closure: Callable[[], _Loss] | None = None) -> _Loss | None:
        """Change every parameter that has a gradient; ``closure`` computes the loss anew before."""
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lists = [], [], [], [], [], []
            has_complex = self._init_group(group, *lists)
            eps1, eps2 = group["eps"]
            adafactor(
                *lists,
                **{name: group[name] for name in _OPTIONS},
                eps1=eps1,
                eps2=eps2,
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                has_complex=has_complex,
            )
        return loss


def _start(state, grad):
    state["step"] = rushlight.tensor(0.0, dtype=_get_scalar_dtype())
    if grad.dim() > 1:
        state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
        state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
    else:
        state["variance"] = rushlight.zeros_like(grad, memory_format=rushlight.preserve_format)


def _size(tensor):
    """The root of the mean of the squares, as a number."""
    return tensor.norm(2).item() / tensor.numel() ** 0.5


def _mean_square(grad, dim):
    return rushlight.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))


def _estimate(grad, row_var, col_var, variance, new, eps):
    """The mean of squares, of which ``new`` parts are this gradient's; a tensor of its own."""
    if grad.dim() <= 1:
        if variance is None:
            raise AssertionError("variance should be defined when grad is a vector")
        return variance.lerp_(grad * grad, new).clone()
    if row_var is None or col_var is None:
        raise AssertionError("row_var and col_var should be defined when grad is multidimensional")
    row_var.lerp_(_mean_square(grad, -1), new)
    col_var.lerp_(_mean_square(grad, -2), new)
    return (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps))


def adafactor(
    params,
    grads,
    row_vars,
    col_vars,
    variances,
    state_steps,
    foreach=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    *,
    d,
    lr,
    beta2_decay,
    weight_decay,
    eps1,
    eps2,
    maximize,
):
    """Make one step of Adafactor over lists of tensors, which are written. See the class Adafactor."""
    if not all(isinstance(step, rushlight.Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = _to_scalar(lr)
    if eps1 is None and params:
        eps1 = rushlight.finfo(params[0].dtype).eps
    lists = params, grads, row_vars, col_vars, variances, state_steps
    for param, grad, *averages, step in zip(*lists, strict=True):
        grad = -grad if maximize else grad
        step += 1
        if not param.numel():
            continue  # the mean of no squares is no number
        count = step.item()
        rate = max(eps2, _size(param)) * min(lr, 1 / count**0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        update = _estimate(grad, *averages, count**beta2_decay, eps1)
        update = update.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        param.add_(update, alpha=-rate / max(1.0, _size(update) / d))
