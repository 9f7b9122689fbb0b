"""Muon: momentum, made orthogonal."""

from __future__ import annotations

import math

import rushlight

from ._group import require
from .optimizer import Optimizer, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from rushlight._C import Tensor

    from .optimizer import _Loss

__all__ = ["Muon"]
EPS = 1e-7
DEFAULT_A = 3.4445
DEFAULT_B = -4.7750
DEFAULT_C = 2.0315
DEFAULT_NS_STEPS = 5
_OPTIONS = (
    *("lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn"),
)


def _zeropower_via_newtonschulz(grad, ns_coefficients, ns_steps, eps):
    """Return a bfloat16 matrix with the singular vectors of ``grad`` and singular values near 1.

    Each step replaces x by a x + b (x x^T) x + c (x x^T)^2 x. A ``grad`` in bfloat16 is divided by its norm
    itself, as in PyTorch.
    """
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.bfloat16()
    x = x.T if tall else x  # the products below are of the shorter side
    x.div_(x.norm().clamp(min=eps))
    for _ in range(ns_steps):
        gram = x @ x.T
        x = rushlight.addmm(x, rushlight.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjust_lr(lr, adjust_lr_fn, param_shape):
    """Return the rate for a matrix: 'original' (None) looks at how tall, 'match_rms_adamw' at how large."""
    rows, columns = param_shape[:2]
    if adjust_lr_fn is None or adjust_lr_fn == "original":
        return lr * math.sqrt(max(1, rows / columns))
    return lr * (0.2 * math.sqrt(max(rows, columns)) if adjust_lr_fn == "match_rms_adamw" else 1.0)


class Muon(Optimizer):
    """Implement Muon: momentum made orthogonal by Newton-Schulz steps, for the matrices of hidden layers.

    The singular values of a move become about 1. Biases, embeddings and other parameters that are no matrices
    go to another optimizer, such as `AdamW`.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        Matrices to optimize; each dict is a group of parameters with options of its own.
    lr : float, default 1e-3
        Learning rate, before `adjust_lr_fn` changes it.
    weight_decay : float, default 0.1
        Weight decay: a step multiplies the parameters by ``1 - lr * weight_decay``.
    momentum : float, default 0.95
        Decay rate of the average of gradients.
    nesterov : bool, default True
        Nesterov momentum: look ahead by the newest gradient.
    ns_coefficients : tuple of 3 floats, default (3.4445, -4.775, 2.0315)
        Coefficients of the polynomial of a Newton-Schulz step, which runs in bfloat16.
    eps : float, default 1e-7
        Smallest norm that a gradient is divided by.
    ns_steps : int, default 5
        Number of Newton-Schulz steps, below 100.
    adjust_lr_fn : {'original', 'match_rms_adamw'}, optional
        'original' (as None): larger rates for tall matrices; 'match_rms_adamw': updates as large as AdamW's.

    Raises
    ------
    ValueError
        If `params` is empty or holds what is no matrix, a number is out of bounds or `adjust_lr_fn` unknown.

    Notes
    -----
    Same as torch.optim.Muon: https://docs.pytorch.org/docs/2.13/generated/torch.optim.Muon.html

    References
    ----------
    K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024,
    https://kellerjordan.github.io/posts/muon/

    Examples
    --------
    >>> model = nn.Linear(3, 2)
    >>> optimizer = torch.optim.Muon([model.weight], lr=0.02)
    >>> model(torch.ones(1, 3)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[model.weight]["momentum_buffer"].shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C),
        eps: float = EPS,
        ns_steps: int = DEFAULT_NS_STEPS,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, rushlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        require(0.0 <= lr, "Learning rate should be >= 0", lr)
        require(0.0 <= momentum, "momentum should be >= 0", momentum)
        require(0.0 <= weight_decay, "weight decay should be >= 0", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def _init_group(self, group, params_with_grad, grads, muon_momentum_bufs):
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = rushlight.zeros_like(
                    p.grad, memory_format=rushlight.preserve_format
                )
            params_with_grad.append(p)
            grads.append(p.grad)
            muon_momentum_bufs.append(state["momentum_buffer"])
        return False  # none is complex

    @rushlight.no_grad()
    def step(self, closure: Callable[[], _Loss] | None = None) -> _Loss | None:
        """Change every parameter that has a gradient; ``closure`` computes the loss anew before."""
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lists = [], [], []
            has_complex = self._init_group(group, *lists)
            muon(*lists, **{name: group[name] for name in _OPTIONS}, has_complex=has_complex)
        return loss


def muon(
    params,
    grads,
    muon_momentum_bufs,
    *,
    foreach=None,
    lr,
    weight_decay,
    momentum,
    nesterov,
    ns_coefficients,
    ns_steps,
    eps,
    adjust_lr_fn,
    has_complex,
):
    """Make one step of Muon over lists of tensors, which are written. See the class Muon."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    lr = _to_scalar(lr)
    for param, grad, mean in zip(params, grads, muon_momentum_bufs, strict=True):
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        if not param.numel():
            continue  # it has no proportions
        mean.lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if nesterov else mean
        update = _zeropower_via_newtonschulz(update, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-_adjust_lr(lr, adjust_lr_fn, param.shape))
