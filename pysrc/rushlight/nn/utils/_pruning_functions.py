"""Pruning of a module, by function."""

from __future__ import annotations

from collections.abc import Iterable

import rushlight

from ._pruning_base import BasePruningMethod, PruningContainer, _find_hooks
from ._pruning_methods import (
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    RandomStructured,
    RandomUnstructured,
)
from .convert_parameters import parameters_to_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor


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
