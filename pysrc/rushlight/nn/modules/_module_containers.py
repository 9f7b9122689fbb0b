"""Lists and dicts of modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from itertools import chain

from rushlight.nn.modules.module import Module

from ._sequential import _renumber

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView
    from typing import Any, Self, SupportsIndex, overload


class ModuleList(Module):
    """Hold modules in a list, so that the parent finds their parameters.

    A plain Python list hides them from `parameters()`, `state_dict()` and `to()`.

    Parameters
    ----------
    modules : iterable of Modules, optional
        What the list begins with.

    Raises
    ------
    TypeError
        If `modules` is not iterable, or an element is no module.
    IndexError
        For an index that is out of range.

    Notes
    -----
    Indices, slices, `len`, iteration, ``+``, `append`, `extend`, `insert` and `pop` work as for lists. The
    list itself is not callable.
    Same as torch.nn.ModuleList: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ModuleList.html

    Examples
    --------
    >>> layers = nn.ModuleList(nn.Linear(10, 10) for _ in range(3))
    >>> x = torch.randn(2, 10)
    >>> for layer in layers:
    ...     x = x + layer(x)
    >>> x.shape
    torch.Size([2, 10])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=10, out_features=10, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx) -> str:
        idx = operator.index(idx)
        if not (-len(self) <= idx < len(self)):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, idx: SupportsIndex) -> Module: ...
        @overload
        def __getitem__(self, idx: slice) -> Self: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: SupportsIndex, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: SupportsIndex | slice) -> None:
        if isinstance(idx, slice):
            for k in range(len(self._modules))[idx]:
                delattr(self, str(k))
        else:
            delattr(self, self._get_abs_string_index(idx))
        _renumber(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        combined = ModuleList()
        for index, module in enumerate(chain(self, other)):
            combined.add_module(str(index), module)
        return combined

    def __repr__(self) -> str:
        """Show equal neighbours once, as ``(0-3): 4 x ...``."""
        runs: list[list] = []  # [first index, how many, text]
        for index, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] += 1
            else:
                runs.append([index, 1, text])
        if not runs:
            return self._get_name() + "()"
        lines = []
        for first, count, text in runs:
            line = f"({first}): {text}" if count == 1 else f"({first}-{first + count - 1}): {count} x {text}"
            lines.append(_indent_all(line))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before an index."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Module) -> Self:
        """Add a module at the end and return the list."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: str) -> Module:
        """Remove the module at an index, or the modules of a slice, and return them."""
        value = self[key]
        del self[key]
        return value

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add all modules of an iterable at the end and return the list.

        Raises
        ------
        TypeError
            If `modules` is not iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got " + type(modules).__name__
            )
        offset = len(self)
        for index, module in enumerate(modules):
            self.add_module(str(offset + index), module)
        return self


def _indent_all(text: str) -> str:
    """Indent all but the first line, blank ones too: here ModuleList differs from Module."""
    return text.replace("\n", "\n  ")


class ModuleDict(Module):
    """Hold modules in a dictionary, so that the parent finds their parameters.

    Parameters
    ----------
    modules : mapping or iterable of pairs, optional
        Names and modules that the dictionary begins with.

    Raises
    ------
    TypeError
        If `modules` is not iterable, a name is no string, or a value is no module.
    KeyError
        For a name that is not there, that has a dot in it, or that is empty or an attribute.

    Notes
    -----
    The order is that of insertion. The dictionary itself is not callable.
    Same as torch.nn.ModuleDict: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ModuleDict.html

    Examples
    --------
    >>> choices = nn.ModuleDict({"conv": nn.Conv2d(10, 10, 3), "pool": nn.MaxPool2d(3)})
    >>> choices["act"] = nn.ReLU()
    >>> list(choices)
    ['conv', 'pool', 'act']
    >>> choices["pool"](torch.randn(1, 10, 6, 6)).shape
    torch.Size([1, 10, 2, 2])
    """

    def __init__(
        self, modules: ModuleDict | Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it."""
        value = self[key]
        del self[key]
        return value

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return the pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: ModuleDict | Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Take over the modules of a mapping, or of an iterable of pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an "
                "iterable of key/value pairs, but got " + type(modules).__name__
            )
        if isinstance(modules, (ModuleDict, Mapping)):
            for key, module in modules.items():
                self[key] = module
            return
        for index, pair in enumerate(modules):
            where = f"ModuleDict update sequence element #{index}"
            if not isinstance(pair, Iterable):
                raise TypeError(f"{where} should be Iterable; is{type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"{where} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]
