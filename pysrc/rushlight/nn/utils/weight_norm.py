"""Weights split into a size and a direction; nn.utils.parametrizations.weight_norm is the newer way."""

from __future__ import annotations

import warnings

from rushlight._C import Parameter
from rushlight.nn.parameter import UninitializedParameter

from . import _norms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The forward pre-hook that computes ``name`` from ``name_g`` and ``name_v``."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return _norms.weight_norm(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int) -> WeightNorm:
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated "
            "in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        size = _norms.norm_except_dim(weight, 2, hook.dim).data
        module.register_parameter(name + "_g", Parameter(size))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Any:
    """Apply weight normalization: split a parameter into its size and its direction.

    The parameter is replaced by ``name_g`` and ``name_v``. Deprecated, with a warning: use
    ``parametrizations.weight_norm``.

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

    Raises
    ------
    RuntimeError
        If it is applied already.

    Notes
    -----
    Same as torch.nn.utils.weight_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.weight_norm.html

    References
    ----------
    T. Salimans, D. Kingma, "Weight normalization: A simple reparameterization to accelerate training of deep
    neural networks", 2016, https://arxiv.org/abs/1602.07868
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Any:
    """Remove weight normalization: the parameter keeps its value and is an ordinary one again.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str, default 'weight'
        Name of the parameter.

    Returns
    -------
    Module
        The module, which is changed.

    Raises
    ------
    ValueError
        If the parameter has none.

    Notes
    -----
    Same as torch.nn.utils.remove_weight_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.remove_weight_norm.html
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
