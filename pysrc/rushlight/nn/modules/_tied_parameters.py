"""Parameters that stand in several places of a tree, and keeping them so while others take their place."""

import rushlight
from rushlight._C import Parameter


def find(module):
    """The Ties of a module, or None where no parameter stands in two places."""
    seen, tied = set(), set()
    for each in module.modules():
        for parameter in each._parameters.values():
            if isinstance(parameter, Parameter):
                (tied if id(parameter) in seen else seen).add(id(parameter))
    return Ties(tied) if tied else None


def _place(t):
    return t.untyped_storage()._cdata, t.storage_offset(), t.stride()


def _same(one, other) -> bool:
    """Whether two tensors are the same memory, or hold the same values."""
    if one is other:
        return True
    if one.dtype != other.dtype or one.device != other.device or one.shape != other.shape:
        return False
    if one.is_meta:
        return True
    return _place(one) == _place(other) or rushlight.equal(one, other)


class Ties:
    """Which tensor took the place of each tied parameter.

    A state dict that was saved from tied parameters names the same values several times, as tensors of
    their own. The first one wins; one that holds other values is no tie any more and stands for itself.
    """

    def __init__(self, tied) -> None:
        self.tied = tied
        self.now: dict = {}  # id of the old one: the old one, the new one
        self.waiting: list = []

    def keep(self, old, new):
        """The tensor that shall take the place of ``old``, for which the state dict has ``new``."""
        if id(old) not in self.tied:
            return new
        if id(old) in self.now:
            known = self.now[id(old)][1]
            return known if _same(known, new) else new
        self.now[id(old)] = old, new
        self.tied.add(id(new))
        self.now[id(new)] = new, new
        return new

    def lack(self, module, name, old) -> None:
        """The state dict has nothing for this place."""
        if id(old) in self.tied:
            self.waiting.append((module, name, old))

    def settle(self) -> None:
        """Let the places without an entry follow the ones that they are tied to."""
        for module, name, old in self.waiting:
            if id(old) in self.now:
                setattr(module, name, self.now[id(old)][1])
