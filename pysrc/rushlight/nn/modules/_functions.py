"""Autograd functions behind layers."""

from __future__ import annotations

from rushlight.autograd.function import Function

from ._backward_hooks import BackwardHookFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["BackwardHookFunction", "CrossMapLRN2d"]


def _window_sums(x, before, after, size):
    """Sums of `size` neighbouring channels of x, to which so many zeros are added in front and behind."""
    from rushlight.nn import functional as F

    return F.pad(x, (0, 0, 0, 0, before, after)).unfold(1, size, 1).sum(-1)


class CrossMapLRN2d(Function):
    """input / (k + alpha / size * the squares of its neighbours in other channels) ** beta.

    As PyTorch's, the squares of channel 0 are never dropped from the sums once they are in them.
    """

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, size: Any, alpha: float = 1e-4, beta: float = 0.75, k: int = 1
    ) -> Tensor:
        ctx.size, ctx.alpha, ctx.beta, ctx.k = size, alpha, beta, k
        ctx.scale = None
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = int((size - 1) / 2)
        square = input.pow(2)
        sums = _window_sums(square, reach, reach, 2 * reach + 1)
        sums[:, reach + 1 :] += square[:, :1]
        ctx.scale = sums.mul_(alpha / size).add_(k)
        output = ctx.scale.pow(-beta).mul_(input)
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        input, output = ctx.saved_tensors
        before = int(ctx.size - (ctx.size - 1) / 2)
        ratio = grad_output * output / ctx.scale
        sums = _window_sums(ratio, before, ctx.size - 1 - before, ctx.size)
        factor = 2 * ctx.alpha * ctx.beta / ctx.size
        grad = ctx.scale.pow(-ctx.beta) * grad_output - factor * input * sums
        return grad, None, None, None, None
