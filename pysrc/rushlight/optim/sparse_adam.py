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

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates only what a sparse gradient holds; a dense one is refused by step().

    Args:
        params: dense real tensors, pairs of name and tensor, or dicts that are groups
        lr: the learning rate, above 0
        betas: the weights of the old in the means of gradients and of squares, in [0, 1)
        eps: keeps the division finite, above 0
        maximize: climb instead of descending

    Raises ValueError for numbers out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.optim.SparseAdam.html
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuse dense gradients; ``closure`` computes the loss before."""
        loss = None
        if closure is not None:
            with rushlight.enable_grad():
                loss = closure()
        if any(param.grad is not None for group in self.param_groups for param in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
