"""Weak references to tensors, and mappings whose keys they are.

A tensor compares element by element, so that it is no key of ``weakref.WeakKeyDictionary``: here keys are
compared by what they are, not by what they hold. An entry goes when its key does.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, MutableMapping
from weakref import ref

from rushlight import _C, _missing

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

WeakRef = ref


class WeakIdRef(ref):
    """A weak reference that equals another one when both are to the same object.

    Its hash is that object's id, also after its death; dead references equal only themselves, since the id
    may be another object's by then.
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        return self is other if mine is None or others is None else mine is others

    def __ne__(self, other):  # that of weakref.ref compares the objects
        return not self == other


class _WeakHashRef(ref):
    """A weak reference that equals another one when the hashes of both objects are the same."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = hash(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        return self is other if mine is None or others is None else hash(mine) == hash(others)

    def __ne__(self, other):
        return not self == other


class WeakIdKeyDictionary(MutableMapping):
    """A mapping whose keys are weak references, compared by identity.

    Parameters
    ----------
    dict : mapping or iterable of pairs, optional
        First entries.
    ref_type : class, default WeakIdRef
        What makes a reference of a key.

    Examples
    --------
    >>> from rushlight.utils.weak import WeakIdKeyDictionary
    >>> x = torch.ones(2)
    >>> names = WeakIdKeyDictionary({x: "x"})
    >>> names[x], torch.ones(2) in names
    ('x', False)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data = {}
        self.ref_type = ref_type
        mine = ref(self)

        def remove(dead):
            owner = mine()
            if owner is not None:
                owner.data.pop(dead, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def _alive(self):
        """Yield (key, value) of keys that live; entries may come and go meanwhile."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # it has no weak references
            return False

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return (key for key, _ in self._alive())

    keys = __iter__

    def items(self):
        return self._alive()

    def values(self):
        return (value for _, value in self._alive())

    def keyrefs(self):
        """Return the weak references; some may be dead when they are called."""
        return list(self.data)

    def get(self, key, default=None):
        return self.data.get(self.ref_type(key), default)

    def pop(self, key, *args):
        return self.data.pop(self.ref_type(key), *args)

    def popitem(self):
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def setdefault(self, key, default=None):
        return self.data.setdefault(self.ref_type(key, self._remove), default)

    def update(self, dict=None, **kwargs):
        pairs = dict.items() if hasattr(dict, "items") else dict or ()
        for key, value in [*pairs, *kwargs.items()]:
            self[key] = value

    def copy(self):
        new = type(self)(ref_type=self.ref_type)
        new.update(self)
        return new

    __copy__ = copy

    def __deepcopy__(self, memo):
        new = type(self)(ref_type=self.ref_type)
        for key, value in self._alive():
            new[key] = copy.deepcopy(value, memo)
        return new

    def __ior__(self, other):
        self.update(other)
        return self

    def __or__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        new = type(self)(ref_type=self.ref_type)
        new.update(other)
        new.update(self)
        return new

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it returns the tensor, or None when that is gone."""

    def __init__(self, tensor):
        if not isinstance(tensor, _C.Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
