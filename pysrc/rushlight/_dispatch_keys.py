"""Names of PyTorch's dispatch keys, by which programs register operators. Here no call looks at them.

0 ... 46       what a tensor or a thread asks for
48, 65, 82 ... a key of each kind of tensor on each device: CPU, QuantizedCPU, SparseCPU ...
150 ... 155    keys that stand for several
"""

from __future__ import annotations

import enum

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["DispatchKey", "DispatchKeySet"]

_SINGLE = {
    **{"Undefined": 0, "Dense": 1, "Quantized": 5, "Sparse": 8, "SparseCsr": 9, "NestedTensor": 10},
    **{"BackendSelect": 11, "Python": 13, "FuncTorchDynamicLayerBackMode": 14, "Functionalize": 15},
    **{"Conjugate": 16, "Negative": 17, "ZeroTensor": 18, "ADInplaceOrView": 19, "AutogradOther": 20},
    **{"AutogradFunctionality": 21, "AutogradNestedTensor": 22, "AutocastCPU": 24, "AutocastXPU": 27},
    **{"AutocastIPU": 28, "AutocastHPU": 29, "AutocastMPS": 31, "AutocastCUDA": 32},
    **{"AutocastPrivateUse1": 33, "FuncTorchBatched": 34, "FuncTorchVmapMode": 36},
    **{"FuncTorchGradWrapper": 39, "PythonTLSSnapshot": 41, "FuncTorchDynamicLayerFrontMode": 42},
    **{"PreDispatch": 45, "PythonDispatcher": 46, "Autograd": 150, "CompositeImplicitAutograd": 151},
    **{"FuncTorchBatchedDecomposition": 152, "CompositeImplicitAutogradNestedTensor": 153},
    **{"CompositeExplicitAutograd": 154, "CompositeExplicitAutogradNonFunctional": 155},
}
_DEVICES = (
    "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
)
# prefix of the keys: (name of the block, its first number)
_BLOCKS = {
    "": ("Dense", 48),
    "Quantized": ("Quantized", 65),
    "Sparse": ("Sparse", 82),
    "SparseCsr": ("SparseCsr", 99),
    "NestedTensor": ("NestedTensor", 116),
    "Autograd": ("AutogradFunctionality", 133),
}


def _members():
    yield from _SINGLE.items()
    for prefix, (block, start) in _BLOCKS.items():
        yield f"StartOf{block}Backends", start
        for i, device in enumerate(_DEVICES, start + 1):
            yield f"{prefix}{device}", i
        yield f"EndOf{block}Backends", start + len(_DEVICES)


class _Key(enum.Enum):
    def __int__(self) -> int:
        return self.value

    __index__ = __int__


DispatchKey = _Key("DispatchKey", dict(_members()), module="rushlight._C")
DispatchKey.__doc__ = "The name of what PyTorch's dispatcher looks for in the arguments of a call."


class DispatchKeySet:
    """Hold some dispatch keys.

    Parameters
    ----------
    key : DispatchKey
        The first; Undefined makes an empty set.
    """

    __slots__ = ("_keys",)

    def __init__(self, key: Any) -> None:
        self._keys = frozenset({DispatchKey(key)} - {DispatchKey.Undefined})

    @classmethod
    def _of(cls, keys):
        made = cls(DispatchKey.Undefined)
        made._keys = frozenset(keys)
        return made

    def has(self, key: Any) -> bool:
        """Whether a key is in it."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """Return a set with one key more."""
        return self | DispatchKeySet(key)

    def remove(self, key: Any) -> DispatchKeySet:
        """Return a set without a key."""
        return self - DispatchKeySet(key)

    def highestPriorityTypeId(self) -> Any:  # noqa: N802 - PyTorch's name
        """Return the key that is asked first."""
        return max(self._keys, key=_priority, default=DispatchKey.Undefined)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys - other._keys)

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self._keys, key=_priority))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


def _priority(key):
    """The place of a key among the kinds of what is asked for, then of its device."""
    for block, start in _BLOCKS.values():
        if start < key.value <= start + len(_DEVICES):
            return _SINGLE[block], key.value
    return key.value, 0


# Where PyTorch has them. A __getattr__ of _C would find them, too, and make every use of _C in Python slower:
# the interpreter specializes no access to a module that has one.
_C.DispatchKey, _C.DispatchKeySet = DispatchKey, DispatchKeySet
