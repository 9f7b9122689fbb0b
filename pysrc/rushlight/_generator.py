"""Methods of Generator beside its numbers: copies, pickles, offsets; attached to the C extension's type."""

import os

from . import _C
from ._tensor import _attach


def _refuse_offset():
    raise RuntimeError("CPU Generator does not use offset")


def new_seed():
    """Return a seed from the system."""
    return int.from_bytes(os.urandom(8), "little") >> 1


class _Methods:
    __slots__ = ()

    def seed(self):
        """Start the stream with a seed from the system and return it."""
        value = new_seed()
        self.manual_seed(value)
        return value

    def get_offset(self):
        """Return the position in the stream; only generators of GPUs have one."""
        if self.device.type == "cpu":
            _refuse_offset()
        return int.from_bytes(bytes(self.get_state()[8:].tolist()), "little")

    def set_offset(self, offset, /):
        """Move in the stream; only generators of GPUs can."""
        if not isinstance(offset, int) or isinstance(offset, bool):
            raise RuntimeError(f"manual_offset expected a long, but got {type(offset).__name__}")
        if self.device.type == "cpu":
            _refuse_offset()
        state = self.get_state()
        state[8:] = _C.tensor([*offset.to_bytes(8, "little", signed=offset < 0)], dtype=_C.uint8)
        self.set_state(state)

    def clone_state(self):
        """Return a new generator that gives the same numbers from here on."""
        return _C.Generator(self.device).set_state(self.get_state())

    def graphsafe_get_state(self):
        """Return the state for a graph of a GPU; there is none."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state, /):
        """Take a state for a graph of a GPU; there is none."""
        if not isinstance(state, _C.Generator):
            raise TypeError(f"expected a Generator, but got {type(state).__name__}")
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def __reduce__(self):
        offset = None if self.device.type == "cpu" else self.get_offset()
        return _C.Generator, (self.device,), (self.initial_seed(), offset, self.get_state())

    def __setstate__(self, state):
        seed, offset, numbers = state
        if offset is not None:
            self.set_offset(offset)
        self.manual_seed(seed)
        self.set_state(numbers)

    @property
    def _cdata(self):
        return id(self)


_attach(_Methods, _C.Generator)
