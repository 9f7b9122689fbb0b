"""Ways to choose what is pruned."""

from __future__ import annotations

import rushlight

from ._masks import (
    _compute_norm,
    _count_to_prune,
    _keep_slices,
    _largest,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
    _zero_largest,
)
from ._pruning_base import BasePruningMethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module


class Identity(BasePruningMethod):
    """Prune nothing, but prepare a parameter as pruning does.

    Notes
    -----
    Same as torch.nn.utils.prune.Identity:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.Identity.html

    Examples
    --------
    >>> layer = nn.Linear(4, 3)
    >>> _ = nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask.all()
    tensor(True)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prune elements at random.

    Parameters
    ----------
    amount : int or float
        How many elements to prune: a number, or a fraction in [0, 1].

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.RandomUnstructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.RandomUnstructured.html

    Examples
    --------
    >>> method = nn.utils.prune.RandomUnstructured(amount=0.5)
    >>> (method.prune(torch.ones(10)) == 0).sum()
    tensor(5)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _count_to_prune(self.amount, t.nelement())
        scores = rushlight.rand_like(t) if count else t
        return _zero_largest(default_mask, scores, count)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prune the elements of the smallest absolute value.

    Parameters
    ----------
    amount : int or float
        How many elements to prune: a number, or a fraction in [0, 1].

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.L1Unstructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.L1Unstructured.html

    Examples
    --------
    >>> nn.utils.prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, 1.0, 0.5, -4.0]))
    tensor([ 3.,  0.,  0., -4.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _count_to_prune(self.amount, t.nelement())
        return _zero_largest(default_mask, -t.abs(), count)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prune whole slices along a dimension at random, such as channels.

    Parameters
    ----------
    amount : int or float
        How many slices to prune: a number, or a fraction in [0, 1].
    dim : int, default -1
        Dimension of the slices.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.RandomStructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.RandomStructured.html

    Examples
    --------
    >>> pruned = nn.utils.prune.RandomStructured(amount=1, dim=0).prune(torch.ones(3, 2))
    >>> pruned.sum()
    tensor(4.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count_to_prune(self.amount, size)
        if count == 0:
            return default_mask
        draws = rushlight.rand(size)
        threshold = sorted(draws.tolist())[count - 1]
        return _keep_slices(t, self.dim, draws > threshold, default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prune the slices along a dimension that have the smallest norm, such as channels.

    Parameters
    ----------
    amount : int or float
        How many slices to prune: a number, or a fraction in [0, 1].
    n : int, float, 'fro' or 'nuc'
        Order of the norm.
    dim : int, default -1
        Dimension of the slices.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.LnStructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.LnStructured.html

    Examples
    --------
    >>> method = nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
    >>> method.prune(torch.tensor([[3.0, 4.0], [0.1, 0.2], [1.0, 1.0]]))
    tensor([[3., 4.],
            [0., 0.],
            [1., 1.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: int, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count_to_prune(self.amount, size)
        if count == 0:
            return default_mask
        kept = _largest(_compute_norm(t, self.n, self.dim), size - count)
        return _keep_slices(t, self.dim, kept, default_mask)

    @classmethod
    def apply(
        cls, module: Module, name: str, amount: Any, n: int, dim: int, importance_scores: Any = None
    ) -> Any:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prune by a mask of your own.

    Parameters
    ----------
    mask : Tensor
        0 where an element is pruned, else 1.

    Notes
    -----
    Same as torch.nn.utils.prune.CustomFromMask:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.CustomFromMask.html

    Examples
    --------
    >>> nn.utils.prune.CustomFromMask(torch.tensor([1, 0, 1])).prune(torch.tensor([2.0, 3.0, 4.0]))
    tensor([2., 0., 4.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Any) -> Any:
        return super().apply(module, name, mask=mask)
