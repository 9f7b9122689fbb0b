"""Products with a weight, and draws of one class of several."""

from __future__ import annotations

import warnings

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

linear = _nn.linear
one_hot = _nn.one_hot


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A draw from the Gumbel-softmax distribution; hard: one-hot, with the gradient of the soft one.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gumbel_softmax.html
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    contiguous = _C.contiguous_format
    gumbels = -_C.empty_like(logits, memory_format=contiguous).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = _C.zeros_like(logits, memory_format=contiguous).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
