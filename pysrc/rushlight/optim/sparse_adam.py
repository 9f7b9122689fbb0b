"""Adam for gradients that are sparse tensors, of which there are none here yet."""

from __future__ import annotations

import rushlight

from ._group import check_betas
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from rushlight._C import Tensor

    from .optimizer import _Loss

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Implement Adam for sparse gradients: only the elements that a gradient holds, and their state, change.

    rushlight has no sparse tensors: step() has nothing to update and refuses dense gradients, which `Adam`
    takes. The class is here for scripts and state dicts that name it.

    Parameters
    ----------
    params : iterable of Tensors, of (name, Tensor) pairs, or of dicts
        What to optimize; each dict is a group of parameters with options of its own.
    lr : float or Tensor, default 1e-3
        Learning rate, above 0; a tensor has one element.
    betas : tuple of 2 floats, default (0.9, 0.999)
        Decay rates of the averages of gradients and of their squares, in [0, 1).
    eps : float, default 1e-8
        Added to the denominator, so that the division stays finite; above 0.
    maximize : bool, default False
        Climb: maximize the objective instead of minimizing it.

    Raises
    ------
    ValueError
        If `params` is empty or holds sparse or complex tensors, or a number is out of bounds.
    RuntimeError
        In step(), if a gradient is dense.

    Notes
    -----
    Same as torch.optim.SparseAdam: https://docs.pytorch.org/docs/2.13/generated/torch.optim.SparseAdam.html

    Examples
    --------
    >>> w = nn.Parameter(torch.ones(10, 3))
    >>> torch.optim.SparseAdam([w], lr=0.1).param_groups[0]["betas"]
    (0.9, 0.999)
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, rushlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_params = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def step(self, closure: Callable[[], _Loss] | None = None) -> _Loss | None:
        """Refuse dense gradients; ``closure`` computes the loss before."""
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        if any(param.grad is not None for group in self.param_groups for param in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
