"""Products with a weight, and draws of one class of several."""

from __future__ import annotations

import warnings

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["gumbel_softmax", "linear", "one_hot"]

linear = _nn.linear
one_hot = _nn.one_hot


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample from the Gumbel-softmax distribution: a draw of a class that has a gradient.

    Parameters
    ----------
    logits : Tensor
        Log-probabilities of the classes, which need not be normalized.
    tau : float, default 1
        Temperature; draws come nearer to one-hot vectors as it falls.
    hard : bool, default False
        Return one-hot vectors, with the gradient of the soft ones.
    eps : float, default 1e-10
        Deprecated; without effect.
    dim : int, default -1
        Dimension of the classes.

    Returns
    -------
    Tensor
        Shape of the logits; along `dim` it adds up to 1.

    Notes
    -----
    Same as torch.nn.functional.gumbel_softmax:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gumbel_softmax.html

    References
    ----------
    E. Jang, S. Gu, B. Poole, "Categorical reparameterization with Gumbel-softmax", 2017,
    https://arxiv.org/abs/1611.01144

    Examples
    --------
    >>> F.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
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
