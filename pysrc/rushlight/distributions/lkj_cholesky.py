"""The LKJ distribution of correlation matrices' Cholesky factors."""

import math

import rushlight

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import _SINGLE, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices M with density det(M) ** (concentration - 1).

    D. Lewandowski, D. Kurowicka and H. Joe, Generating random correlation matrices based on vines and
    extended onion method (2009).

    Args:
        dim: the rows of the matrices, at least 2 (ValueError).
        concentration: 1 is uniform, more draws to the identity; a number or a tensor.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # of each row: how much of its length lies left of the diagonal
        marginal = self.concentration + 0.5 * (dim - 2)
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = rushlight.arange(dim - 1, **like)
        offset = rushlight.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), rushlight.Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        batched, kept = ("concentration", "_beta"), ("dim",)
        return self._expanded(LKJCholesky, batch_shape, _instance, batched, kept)

    def sample(self, sample_shape=_SINGLE):
        # the onion method: a length and a direction for each row
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        like = {"dtype": length.dtype, "device": length.device}
        normal = rushlight.randn(self._extended_shape(sample_shape), **like).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = length.sqrt() * direction
        rest = (1 - rushlight.sum(rows**2, dim=-1)).clamp(min=rushlight.finfo(rows.dtype).tiny)
        return rows + rest.sqrt().diag_embed()

    def log_prob(self, value):
        # det(M) and the Jacobian from factor to matrix are powers of the diagonal
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = rushlight.arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        log_prob = rushlight.sum(power * diagonal.log(), dim=-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = rushlight.mvlgamma(alpha - 0.5, n) - alpha.lgamma() * n
        return log_prob - (0.5 * n * math.log(math.pi) + normalizer)
