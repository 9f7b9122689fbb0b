"""Weights divided by their largest singular value; parametrizations.spectral_norm is the newer way."""

from __future__ import annotations

import rushlight
from rushlight._C import Parameter
from rushlight.nn.parameter import UninitializedParameter

from ._norms import normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


def default_dim(module: Module) -> int:
    """The dimension of the outputs in a layer's weight."""
    return 1 if getattr(module, "transposed", False) else 0


def as_matrix(weight: Tensor | None, dim: int) -> Any:
    """The weight with one row for each index of ``dim``."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


class SpectralNorm:
    """The forward pre-hook that computes ``name`` from ``name_orig`` by power iterations on u and v."""

    # version 1: state dicts hold v too, and no longer the computed weight
    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        weight = getattr(module, self.name + "_orig")
        u = getattr(module, self.name + "_u")
        v = getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with rushlight.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), self.eps))
                    u.copy_(normalize(matrix.mv(v), self.eps))
                # backward needs these values, and the next call changes the buffers
                u, v = u.clone(), v.clone()
        return weight / (u * matrix.mv(v)).sum()

    def remove(self, module: Module) -> None:
        with rushlight.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix, u, target_sigma):
        """The v for which u = normalize(W v) and u.W.v = sigma: v = pinv(W^T W) W^T u, rescaled."""
        import numpy as np

        inverse = np.linalg.pinv((matrix.t() @ matrix).detach().numpy())
        v = rushlight.from_numpy(inverse).to(matrix.dtype) @ (matrix.t() @ u)
        return v.mul_(target_sigma / (u * matrix.mv(v)).sum())

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with rushlight.no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).size()
            u = normalize(weight.new_empty(height).normal_(0, 1), eps)
            v = normalize(weight.new_empty(width).normal_(0, 1), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # until the first call; a plain tensor, as the computed weight will be
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Brings state dicts of version 0 up to date: computes v from weight, weight_orig and u."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        now = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and now and key not in state_dict:
            return  # a later state dict that lost its metadata
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with rushlight.no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version in the state dict."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Apply spectral normalization: divide a parameter by its largest singular value.

    Calls in training mode estimate it by power iteration. The older form: ``parametrizations.spectral_norm``
    does the same without hooks.

    Parameters
    ----------
    module : Module
        Module that has the parameter.
    name : str, default 'weight'
        Name of the parameter.
    n_power_iterations : int, default 1
        Number of power iterations in a call.
    eps : float, default 1e-12
        Smallest norm to divide by.
    dim : int, optional
        Dimension of the outputs; 1 for transposed convolutions, else 0 if not given.

    Returns
    -------
    Module
        The module, which is changed.

    Notes
    -----
    Same as torch.nn.utils.spectral_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.spectral_norm.html

    References
    ----------
    T. Miyato et al., "Spectral normalization for generative adversarial networks", 2018,
    https://arxiv.org/abs/1802.05957

    Examples
    --------
    >>> layer = nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=30)
    >>> _ = layer(torch.ones(4))
    >>> abs(torch.linalg.matrix_norm(layer.weight, 2).item() - 1) < 1e-3
    True
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def _remove_hook(hooks, kind, name):
    for key, hook in hooks.items():
        if isinstance(hook, kind) and getattr(hook, "fn", hook).name == name:
            return hooks.pop(key)
    return None


def remove_spectral_norm(module: Module, name: str = "weight") -> Any:
    """Remove spectral normalization: the parameter keeps its value and is an ordinary one again.

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
    Same as torch.nn.utils.remove_spectral_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.remove_spectral_norm.html

    Examples
    --------
    >>> layer = nn.utils.spectral_norm(nn.Linear(4, 3))
    >>> [name for name, _ in nn.utils.remove_spectral_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    _remove_hook(module._forward_pre_hooks, SpectralNorm, name)
    _remove_hook(module._state_dict_hooks, SpectralNormStateDictHook, name)
    _remove_hook(module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook, name)
    return module
