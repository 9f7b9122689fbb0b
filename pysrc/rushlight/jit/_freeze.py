"""freeze and optimize_for_inference: parameters become constants of a module, which computes as before."""

from __future__ import annotations

from ._script import RecursiveScriptModule, ScriptModule
from ._state import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INSTEAD = "Please use `torch.compile` instead."
_EXPECTS = (
    "{} expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
    "script your 'nn.Module'."
)


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Return a module whose parameters, buffers and submodules are constants of its code.

    Parameters
    ----------
    mod : ScriptModule
        Module in eval mode.
    preserved_attrs : list of str, optional
        Attributes and methods besides ``forward`` that stay.
    optimize_numerics : bool, default True
        Without effect.

    Returns
    -------
    RecursiveScriptModule
        The module; its state dict is empty.

    Raises
    ------
    RuntimeError
        If `mod` is no ScriptModule, or trains.

    Notes
    -----
    Same as torch.jit.freeze: https://docs.pytorch.org/docs/2.13/generated/torch.jit.freeze.html
    """
    deprecated("freeze", _INSTEAD)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(_EXPECTS.format("Freezing"))
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing."
        )
    return RecursiveScriptModule._frozen(mod, preserved_attrs or [])


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Optimize a frozen module in its place: it runs as it is."""


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Freeze a module that is not frozen yet, in eval mode.

    Parameters
    ----------
    mod : ScriptModule
        The module.
    other_methods : list of str, optional
        Methods besides ``forward`` that stay.

    Returns
    -------
    RecursiveScriptModule
        The module.

    Raises
    ------
    RuntimeError
        If `mod` is no ScriptModule.

    Notes
    -----
    Same as torch.jit.optimize_for_inference:
    https://docs.pytorch.org/docs/2.13/generated/torch.jit.optimize_for_inference.html
    """
    deprecated("optimize_for_inference", _INSTEAD)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(_EXPECTS.format("optimize_for_inference"))
    if hasattr(mod, "training"):
        mod = freeze(mod.eval(), preserved_attrs=other_methods)
    return mod
