"""Distances between vectors."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """Compute the distance between vectors, pair by pair.

    It is the p-norm of ``x1 - x2 + eps``.

    Parameters
    ----------
    p : float, default 2.0
        p of the norm; may be infinite.
    eps : float, default 1e-6
        Added to the differences, for stable gradients.
    keepdim : bool, default False
        Keep the last dimension, with size 1.

    Shape
    -----
    Input1, input2 : (N, D) or (D); they broadcast
    Output : (N) or (); (N, 1) or (1) with `keepdim`

    Notes
    -----
    Same as torch.nn.PairwiseDistance:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.PairwiseDistance.html

    Examples
    --------
    >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[3.0, 4.0], [1.0, 2.0]]))
    tensor([5.0000, 1.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]
    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Compute the cosine similarity of vectors.

    The output is ``x1 @ x2 / (max(|x1|, eps) * max(|x2|, eps))``.

    Parameters
    ----------
    dim : int, default 1
        Dimension of the vectors.
    eps : float, default 1e-8
        Least norm, so that nothing is divided by 0.

    Shape
    -----
    Input1, input2 : (*, D, *), with D at `dim`; they broadcast
    Output : (*, *)

    Raises
    ------
    IndexError
        When called, if the inputs have no such dimension.

    Notes
    -----
    Same as torch.nn.CosineSimilarity:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.CosineSimilarity.html

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    >>> nn.CosineSimilarity()(x, torch.tensor([[2.0, 0.0], [1.0, -1.0]]))
    tensor([1., 0.])
    """

    __constants__ = ["dim", "eps"]
    dim: int
    eps: float

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
