"""Layers that a file holds and that rushlight lacks."""

import functools
import pickle

from .._missing import refuse

_MODULE_KEYS = frozenset({"training"})


@functools.cache
def _base():
    from ..nn import Module

    class Placeholder(Module):
        """Keeps a layer's state, prints it and is saved as the layer that it stands for."""

        def forward(self, *args, **kwargs):
            raise refuse(f"the layer {'.'.join(self._torch_name)}")

        def extra_repr(self):
            plain = (bool, int, float, str, type(None))
            return ", ".join(
                f"{key}={value!r}"
                for key, value in vars(self).items()
                if type(value) in plain and key[0] != "_" and key not in _MODULE_KEYS
            )

    return Placeholder


@functools.cache
def placeholder(module, name):
    """Return the class that stands for a layer's class; the same one each time."""
    if "." in name:
        raise pickle.UnpicklingError(f"{module}.{name} is no name of a layer")
    return type(name, (_base(),), {"_torch_name": (module, name), "__module__": module})
