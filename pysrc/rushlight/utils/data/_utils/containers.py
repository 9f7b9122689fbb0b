"""Makes containers of other contents: of the same class where that can be made, else a dict or a list."""

import copy
from collections.abc import MutableMapping, MutableSequence


def mapping_like(data, values):
    """Return a mapping like ``data`` with the contents of the dict ``values``."""
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(values)
        clone = copy.copy(data)  # keeps what the class holds besides its items
        clone.update(values)
        return clone
    except TypeError:
        return values


def sequence_like(data, values):
    """Return a sequence like ``data`` with the contents of the list ``values``, which is as long."""
    try:
        if not isinstance(data, MutableSequence):
            return type(data)(values)
        clone = copy.copy(data)
        for i, value in enumerate(values):
            clone[i] = value
        return clone
    except TypeError:
        return values


def is_namedtuple(data):
    """Whether it is a tuple whose class takes one argument for each field."""
    return isinstance(data, tuple) and hasattr(data, "_fields")
