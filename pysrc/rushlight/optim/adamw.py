"""Adam that takes the weight decay from the parameters."""

from __future__ import annotations

from .adam import Adam, adam

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Implement AdamW: Adam with weight decay that is decoupled from the gradient.

    A step shrinks the parameters by ``lr * weight_decay`` and goes on as `Adam` does without weight decay.

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
    weight_decay : float, default 1e-2
        Weight decay: a step multiplies the parameters by ``1 - lr * weight_decay``.
    amsgrad : bool, default False
        AMSGrad: divide by the largest average of squares so far.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.
    foreach : bool, optional
        Accepted; a step over a group of parameters is one operator with any value.
    capturable : bool, default False
        For CUDA graphs; with parameters on the CPU, True makes step() raise AssertionError.
    differentiable : bool, default False
        Record the steps for autograd, so that it can differentiate through them.
    fused : bool, optional
        Accepted; with True a `GradScaler` leaves the unscaling of gradients to step().

    Raises
    ------
    ValueError
        If `params` is empty or a number is out of bounds.
    RuntimeError
        If `fused` meets `foreach` or `differentiable`.

    Notes
    -----
    Same as torch.optim.AdamW: https://docs.pytorch.org/docs/2.13/generated/torch.optim.AdamW.html

    References
    ----------
    I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019, https://arxiv.org/abs/1711.05101

    Examples
    --------
    Biases are often left without weight decay:

    >>> model = nn.Linear(4, 2)
    >>> groups = [{"params": [model.weight]}, {"params": [model.bias], "weight_decay": 0.0}]
    >>> optimizer = torch.optim.AdamW(groups)
    >>> [group["weight_decay"] for group in optimizer.param_groups]
    [0.01, 0.0]
    >>> model(torch.ones(1, 4)).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adamw(*lists: Any, **options: Any) -> None:
    """Make one step of AdamW over lists of tensors, which are written: adam() with decoupled weight decay."""
    adam(*lists, **options, decoupled_weight_decay=True)
