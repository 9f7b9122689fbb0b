"""Helpers of the layers."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


# ---- errors of constructors that name the argument; sizes are checked after making the layer has failed ----
def wrong_size(error, **sizes):
    """Return what to raise for a TypeError: it names the first of the sizes that is no integer, if one is."""
    for name, value in sizes.items():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if not hasattr(each, "__index__"):
                return TypeError(f"{name} should be of type int, got: {type(each).__name__}")
    return error


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _own_init(cls):
    """Give the class its base's __init__ under its own name, which texts about wrong arguments tell."""
    init = cls.__init__
    copy = FunctionType(init.__code__, init.__globals__, "__init__", init.__defaults__, init.__closure__)
    copy.__kwdefaults__ = init.__kwdefaults__
    copy.__annotations__ = init.__annotations__
    copy.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = copy
    return cls


def _reverse_repeat_tuple(t, n):
    """Return the items from the last to the first, each n times: a layer's padding as F.pad takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix from the keys of a state dict, in place.

    State dicts of models in `DataParallel` have the prefix ``'module.'``; keys without it stay.

    Parameters
    ----------
    state_dict : dict
        Names and tensors.
    prefix : str
        What is stripped.

    Examples
    --------
    >>> state = {"module.weight": torch.ones(1)}
    >>> nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': tensor([1.])}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        # the entry of the prefix itself, without its dot, is that of the whole
        if key == prefix.replace(".", "") or key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
