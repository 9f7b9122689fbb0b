"""What pruning methods share: masks, hooks, containers of methods."""

from __future__ import annotations

from abc import ABC, abstractmethod

import rushlight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module


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
