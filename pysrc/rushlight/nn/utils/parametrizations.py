"""Parametrizations: weight_norm, spectral_norm, orthogonal."""

from __future__ import annotations

from enum import Enum, auto

import rushlight
from rushlight._C import Tensor
from rushlight.nn.modules.module import Module

from . import _linalg, _norms, parametrize
from .spectral_norm import default_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _find_tensor(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---- orthogonal ----
class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(q) -> bool:
    n, k = q.size(-2), q.size(-1)
    identity = _linalg.eye(k, q)
    eps = 10.0 * n * rushlight.finfo(q.dtype).eps
    return rushlight.allclose(q.mT @ q, identity, atol=eps)


def _make_orthogonal(a):
    """The Q of a = QR where R has no negative diagonal: uniformly distributed for normal a."""
    x, tau = _linalg.geqrf(a)
    signs = _linalg.diagonal(x).sign()
    return _linalg.householder_product(x, tau) * signs.unsqueeze(-2)


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, *, use_trivialization=True) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            # the orthogonal matrix that the map starts from; right_inverse sets it
            self.register_buffer("base", None)

    def forward(self, x):
        transposed = x.size(-2) < x.size(-1)
        x = x.mT if transposed else x
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            a = _linalg.tril(x, -1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = _linalg.householder_product(a, tau) * _linalg.diagonal(x).trunc().unsqueeze(-2)
        else:
            x = _linalg.tril(x)
            if n != k:
                x = rushlight.cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], dim=-1)
            skew = x - x.mT
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = _linalg.matrix_exp(skew)
            else:
                identity = _linalg.eye(n, skew)
                q = _linalg.solve(identity - skew * 0.5, identity + skew * 0.5)
            q = q[..., :k] if n != k else q
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def right_inverse(self, q):
        with rushlight.no_grad():
            return self._right_inverse(q)

    def _right_inverse(self, given):
        if given.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {given.shape}."
            )
        transposed = given.size(-2) < given.size(-1)
        q = given.mT if transposed else given
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential "
                    "or the Cayley parametrizations when use_trivialization=False."
                )
            a, tau = _linalg.geqrf(q)
            # the diagonal holds the signs that geqrf puts into R
            signs = _linalg.diagonal(a).sign()
            signs = rushlight.where(tau == 0, -signs, signs)
            a = _linalg.with_diagonal(a, signs)
            return a.mT if transposed else a
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            noise = rushlight.randn((*q.shape[:-2], n, n - k), dtype=q.dtype, device=q.device)
            q = _make_orthogonal(rushlight.cat([q, noise], dim=-1))
        self.base = q
        return _linalg.with_diagonal(rushlight.zeros_like(given), -1.0)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Apply an orthogonal parametrization: keep a matrix, or each matrix of a batch, orthogonal.

    ``Q.mT @ Q`` is the identity, or ``Q @ Q.mT`` for matrices with more columns than rows.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str, default 'weight'
        Name of the parameter.
    orthogonal_map : {'matrix_exp', 'cayley', 'householder'}, optional
        How the matrix is computed; 'matrix_exp' for square ones, else 'householder', if not given.
    use_trivialization : bool, default True
        Keep a base matrix, so that orthogonal matrices can be assigned.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If there is no such parameter, it has less than 2 dimensions, or the map is unknown.

    Notes
    -----
    Same as torch.nn.utils.parametrizations.orthogonal:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.orthogonal.html

    References
    ----------
    M. Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019,
    https://arxiv.org/abs/1909.09501

    Examples
    --------
    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(5, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = _find_tensor(module, name)
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    orth = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, orth, unsafe=True)


# ---- weight_norm ----
class _WeightNorm(Module):
    def __init__(self, dim=0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return _norms.weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return _norms.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Apply weight normalization: split a parameter into its size and its direction.

    ``weight`` is then computed from ``parametrizations.weight.original0`` (sizes) and ``original1``
    (direction).

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str, default 'weight'
        Name of the parameter.
    dim : int, default 0
        Dimension whose slices have sizes of their own; None for one size.

    Returns
    -------
    Module
        The module, which is changed.

    Notes
    -----
    Same as torch.nn.utils.parametrizations.weight_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.weight_norm.html

    References
    ----------
    T. Salimans, D. Kingma, "Weight normalization: A simple reparameterization to accelerate training of deep
    neural networks", 2016, https://arxiv.org/abs/1602.07868

    Examples
    --------
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> {name: tuple(p.shape) for name, p in layer.parametrizations.weight.named_parameters()}
    {'original0': (3, 1), 'original1': (3, 4)}
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_older_names(
        state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        g_key, v_key = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g_key in state_dict and v_key in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g_key)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v_key)

    module._register_load_state_dict_pre_hook(load_older_names)
    return module


# ---- spectral_norm ----
class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12) -> None:
        super().__init__()
        ndim = weight.dim()
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:  # a vector is its own singular vector
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", _norms.normalize(u, eps))
            self.register_buffer("_v", _norms.normalize(v, eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix, n_power_iterations) -> None:
        with rushlight.no_grad():
            for _ in range(n_power_iterations):
                # in place: replicas of a module share the buffers
                self._u.copy_(_norms.normalize(matrix.mv(self._v), self.eps))
                self._v.copy_(_norms.normalize(matrix.t().mv(self._u), self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return _norms.normalize(weight, self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # backward needs these values, and the next call changes the buffers
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * matrix.mv(v)).sum()

    def right_inverse(self, value):
        # assigning a weight that is not normalised is allowed: reading it then normalises it
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Apply spectral normalization: divide a parameter by its largest singular value.

    Reading the parameter in training mode estimates it by power iteration.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str, default 'weight'
        Name of the parameter.
    n_power_iterations : int, default 1
        Number of power iterations each time.
    eps : float, default 1e-12
        Smallest norm to divide by.
    dim : int, optional
        Dimension of the outputs; 1 for transposed convolutions, else 0 if not given.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If there is no such parameter or `n_power_iterations` is not positive.
    IndexError
        If the parameter has no such dimension.

    Notes
    -----
    Same as torch.nn.utils.parametrizations.spectral_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.spectral_norm.html

    References
    ----------
    T. Miyato et al., "Spectral normalization for generative adversarial networks", 2018,
    https://arxiv.org/abs/1802.05957

    Examples
    --------
    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    >>> abs(torch.linalg.matrix_norm(layer.weight, 2).item() - 1) < 1e-3
    True
    """
    weight = _find_tensor(module, name)
    dim = default_dim(module) if dim is None else dim
    norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, norm)
