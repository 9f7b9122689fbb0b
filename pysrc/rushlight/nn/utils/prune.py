"""Masks that keep chosen entries of a parameter at zero.

A pruned ``weight`` becomes the parameter ``weight_orig`` and the buffer ``weight_mask``; before each forward
a hook, the pruning method, puts their product where the weight was. Methods on the same parameter are
collected in a PruningContainer.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

import rushlight

from . import _norms
from .convert_parameters import parameters_to_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


# ---- how many entries a pruning method takes, and which ----
def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if isinstance(amount, numbers.Integral):
        good = amount >= 0
    else:
        good = 0.0 <= float(amount) <= 1.0
    if not good:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount, tensor_size) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _count_to_prune(amount, size):
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


def _validate_structured_pruning(t) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to "
            f"multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t, n, dim):
    """The norm of each slice along ``dim``; n is a number, "fro" or "nuc"."""
    dims = [d for d in range(t.dim()) if d != dim % t.dim()]
    if n == "nuc":
        import numpy as np

        return rushlight.from_numpy(np.linalg.norm(t.detach().numpy(), "nuc", axis=tuple(dims)))
    return _norms.vector_norm(t, 2.0 if n == "fro" else float(n), dims)


def _largest(values, count):
    """Where the largest values stand; of equal ones the first."""
    return (-values.detach()).argsort(stable=True)[:count]


def _zero_largest(default_mask, scores, count):
    mask = default_mask.detach().reshape(-1).clone()
    mask[_largest(scores.reshape(-1), count)] = 0
    return mask.reshape(default_mask.shape)


def _keep_slices(t, dim, index, default_mask):
    """A mask of ones in the slices that an index, of numbers or of booleans, chooses along ``dim``."""
    mask = rushlight.zeros_like(t.detach())
    where = [slice(None)] * t.dim()
    where[dim] = index
    mask[tuple(where)] = 1
    return mask * default_mask.to(dtype=t.dtype)


# ---- what pruning methods share: masks, hooks, containers of methods ----
def _find_hooks(module, name):
    """The keys and hooks of the pruning methods that are on a parameter."""
    return [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


def _check_scores(importance_scores, shape, what) -> None:
    if importance_scores.shape != shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, "
            f"got {importance_scores.shape} vs {shape}"
        )


class BasePruningMethod(ABC):
    """Represent a pruning method: what chooses the elements of a parameter to become 0.

    The base class. A subclass sets ``PRUNING_TYPE`` ('unstructured', 'structured' or 'global') and defines
    compute_mask().

    Notes
    -----
    Same as torch.nn.utils.prune.BasePruningMethod:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.BasePruningMethod.html

    Examples
    --------
    >>> class Negative(nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t > 0)
    >>> layer = nn.Linear(4, 3)
    >>> _ = Negative.apply(layer, "weight")
    >>> (layer.weight >= 0).all()
    tensor(True)
    """

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> None:
        """Return the mask for a tensor, which keeps the zeros of ``default_mask``."""

    def apply_mask(self, module: Module) -> Any:
        """Return the parameter with its mask applied."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def _new_for(cls, module, name, args, kwargs):
        """Make the method; collected with the one that is on the parameter already."""
        earlier = _find_hooks(module, name)
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        for key, _ in earlier:
            del module._forward_pre_hooks[key]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if not earlier:
            return method
        container = earlier[0][1]
        if not isinstance(container, PruningContainer):
            container = PruningContainer(container)
        container.add_pruning_method(method)
        return container

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter of a module; further arguments are those of the method."""
        method = cls._new_for(module, name, args, kwargs)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        else:
            _check_scores(importance_scores, original.shape, f"parameter {name} of {module}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = rushlight.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a pruned version of a tensor that belongs to no module."""
        if importance_scores is None:
            importance_scores = t
        else:
            _check_scores(importance_scores, t.shape, "tensor t")
        if default_mask is None:
            default_mask = rushlight.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the masked values the parameter's own; the hook itself is removed by ``prune.remove``."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Hold several pruning methods of one parameter; each prunes what the ones before it left.

    Pruning a parameter again makes it.

    Parameters
    ----------
    *args : BasePruningMethod
        Methods, in their order.

    Raises
    ------
    TypeError
        If one is no method.
    ValueError
        If they act on different parameters.

    Notes
    -----
    Same as torch.nn.utils.prune.PruningContainer:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.PruningContainer.html

    Examples
    --------
    >>> layer = nn.Linear(4, 3)
    >>> for _ in range(2):
    ...     layer = nn.utils.prune.l1_unstructured(layer, "weight", amount=3)
    >>> (layer.weight == 0).sum()
    tensor(6)
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['PruningContainer']
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method that acts on the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on "
                f"the parameter named '{self._tensor_name}' to PruningContainer {self}."
                f" Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Let the latest method prune what the earlier ones left."""
        method = self._pruning_methods[-1]
        left = self._what_is_left(method, t, default_mask)
        mask = default_mask.detach().clone().to(dtype=t.dtype)
        partial = method.compute_mask(t.detach()[left], default_mask=default_mask[left])
        mask[left] = partial.to(dtype=t.dtype)
        return mask

    @staticmethod
    def _what_is_left(method, t, mask):
        """The index of the entries or slices that are not pruned yet."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        index = [slice(None)] * t.dim()
        if method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = method.dim + t.dim() if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
            index[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        return tuple(index)


# ---- ways to choose what is pruned ----
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


# ---- pruning of a module, by function ----
def identity(module: Module, name: str) -> Any:
    """Prepare a parameter for pruning without pruning it.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Notes
    -----
    Same as torch.nn.utils.prune.identity:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.identity.html

    Examples
    --------
    >>> layer = nn.utils.prune.identity(nn.Linear(4, 3), "weight")
    >>> layer.weight_mask.all()
    tensor(True)
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Any:
    """Prune elements of a parameter at random.

    ``weight`` becomes the product of the parameter ``weight_orig`` and the buffer ``weight_mask``.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.
    amount : int or float
        How many elements to prune: a number, or a fraction in [0, 1].

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.random_unstructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.random_unstructured.html

    Examples
    --------
    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 3), "weight", amount=0.25)
    >>> (layer.weight == 0).sum()
    tensor(3)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of a parameter of the smallest absolute value.

    ``weight`` becomes the product of the parameter ``weight_orig`` and the buffer ``weight_mask``.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.
    amount : int or float
        How many elements to prune: a number, or a fraction in [0, 1].
    importance_scores : Tensor, optional
        What decides in place of the values, of the shape of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds.

    Notes
    -----
    Same as torch.nn.utils.prune.l1_unstructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.l1_unstructured.html

    Examples
    --------
    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=5)
    >>> (layer.weight == 0).sum()
    tensor(5)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Any:
    """Prune whole slices of a parameter at random, such as channels.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.
    amount : int or float
        How many slices to prune: a number, or a fraction in [0, 1].
    dim : int
        Dimension of the slices.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds or the parameter has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.utils.prune.random_structured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.random_structured.html

    Examples
    --------
    >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 3), "weight", amount=1, dim=0)
    >>> (layer.weight == 0).all(dim=1).sum()
    tensor(1)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: int, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the slices of a parameter that have the smallest norm, such as channels.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.
    amount : int or float
        How many slices to prune: a number, or a fraction in [0, 1].
    n : int, float, 'fro' or 'nuc'
        Order of the norm.
    dim : int
        Dimension of the slices.
    importance_scores : Tensor, optional
        What decides in place of the values, of the shape of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    TypeError
        If `amount` is no number.
    ValueError
        If `amount` is out of bounds or the parameter has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.utils.prune.ln_structured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.ln_structured.html

    Examples
    --------
    >>> layer = nn.utils.prune.ln_structured(nn.Conv2d(1, 4, 3), "weight", amount=0.5, n=2, dim=0)
    >>> (layer.weight == 0).flatten(1).all(dim=1).sum()
    tensor(2)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Any) -> Any:
    """Prune a parameter by a mask of your own.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.
    mask : Tensor
        0 where an element is pruned, else 1, of the shape of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Notes
    -----
    Same as torch.nn.utils.prune.custom_from_mask:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.custom_from_mask.html

    Examples
    --------
    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 2), "bias", torch.tensor([0, 1]))
    >>> layer.bias == 0
    tensor([ True, False])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Tensor | Iterable[Tensor], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one vector.

    Parameters
    ----------
    parameters : iterable of (Module, str) pairs
        Modules and the names of their parameters.
    pruning_method : type
        Class of a method for elements, such as `L1Unstructured`.
    importance_scores : dict, optional
        Maps such pairs to what decides in place of the values.
    **kwargs
        Arguments of the method, such as ``amount``.

    Raises
    ------
    TypeError
        If the method is none for elements, or an argument has another type.

    Notes
    -----
    Same as torch.nn.utils.prune.global_unstructured:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.global_unstructured.html

    Examples
    --------
    >>> first, second = nn.Linear(4, 3), nn.Linear(3, 2)
    >>> prune = nn.utils.prune
    >>> pairs = [(first, "weight"), (second, "weight")]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=9)
    >>> (first.weight == 0).sum() + (second.weight == 0).sum()
    tensor(9)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    scores = parameters_to_vector(
        [importance_scores.get((module, name), getattr(module, name)) for module, name in parameters]
    )
    default_mask = parameters_to_vector(
        [
            getattr(module, name + "_mask", rushlight.ones_like(getattr(module, name)))
            for module, name in parameters
        ]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(scores, default_mask)
    at = 0
    for module, name in parameters:
        parameter = getattr(module, name)
        count = parameter.numel()
        custom_from_mask(module, name, mask=mask[at : at + count].view_as(parameter))
        at += count


def remove(module: Module, name: str) -> Any:
    """Make pruning permanent: the parameter keeps its zeros and is an ordinary one again.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str
        Name of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If the parameter is not pruned.

    Notes
    -----
    Same as torch.nn.utils.prune.remove:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.remove.html

    Examples
    --------
    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=5)
    >>> sorted(nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, hook in _find_hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of a module below it, is pruned.

    Parameters
    ----------
    module : Module
        Module.

    Returns
    -------
    bool
        Whether one is.

    Notes
    -----
    Same as torch.nn.utils.prune.is_pruned:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.prune.is_pruned.html

    Examples
    --------
    >>> nn.utils.prune.is_pruned(nn.Linear(4, 3))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
