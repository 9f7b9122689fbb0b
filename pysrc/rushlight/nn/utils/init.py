"""Construction without the cost of starting values."""

from __future__ import annotations

import inspect

from rushlight._C import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Construct a module without initializing its parameters and buffers, e.g. before loading them.

    No random number is drawn.

    Parameters
    ----------
    module_cls : type
        Class of the module, which takes an argument ``device``.
    *args
        Its arguments.
    **kwargs
        Its keyword arguments; ``device`` says where it is made.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    RuntimeError
        If it is no class of modules or takes no ``device``.

    Notes
    -----
    Same as torch.nn.utils.skip_init:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.skip_init.html

    Examples
    --------
    >>> layer = nn.utils.skip_init(nn.Linear, 3, 2)
    >>> layer.weight.shape
    torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
