"""Modules one after another."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable
from itertools import chain, islice

from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self, SupportsIndex, overload

    from rushlight._C import Tensor


class Container(Module):
    """Hold modules by keyword; deprecated.

    It gives a FutureWarning: subclass `Module` instead.

    Parameters
    ----------
    **kwargs : Module
        Names and modules.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     module = nn.Container(act=nn.ReLU())
    >>> module.act, caught[0].category.__name__
    (ReLU(), 'FutureWarning')
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. "
            "All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _renumber(container) -> None:
    """Number the children from 0 again after some were deleted."""
    container._modules = OrderedDict((str(i), m) for i, m in enumerate(container._modules.values()))


class Sequential(Module):
    """Run modules one after the other, each on the output of the one before.

    Parameters
    ----------
    *args : Module, or one OrderedDict of names and modules
        The modules; without names they are called '0', '1', ...

    Raises
    ------
    TypeError
        If an argument is no module.
    IndexError
        For an index that is out of range.

    Notes
    -----
    Modules are reached by index, by slice (a Sequential of them) and by name.
    Same as torch.nn.Sequential: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Sequential.html

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> model(torch.randn(3, 4)).shape
    torch.Size([3, 2])
    >>> model
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    >>> model[:2].append(nn.Linear(8, 5))[-1]
    Linear(in_features=8, out_features=5, bias=True)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def _get_item_by_idx(self, iterator, idx):
        size = len(self)
        idx = operator.index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return next(islice(iterator, idx % size, None))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, idx: SupportsIndex) -> Module: ...
        @overload
        def __getitem__(self, idx: slice) -> Self: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __setitem__(self, idx: SupportsIndex, module: Module) -> None:
        setattr(self, self._get_item_by_idx(self._modules.keys(), idx), module)

    def __delitem__(self, idx: SupportsIndex | slice) -> None:
        if isinstance(idx, slice):
            for key in list(self._modules.keys())[idx]:
                delattr(self, key)
        else:
            delattr(self, self._get_item_by_idx(self._modules.keys(), idx))
        _renumber(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __add__(self, other: Sequential) -> Sequential:
        _check_sequential(other)
        result = Sequential()
        for layer in chain(self, other):
            result.append(layer)
        return result

    def pop(self, key: str) -> Module:
        """Remove the module at an index, or the modules of a slice, and return them."""
        value = self[key]
        del self[key]
        return value

    def __iadd__(self, other: Sequential) -> Self:
        _check_sequential(other)
        offset = len(self)
        for index, module in enumerate(other):
            self.add_module(str(index + offset), module)
        return self

    def _check_factor(self, other) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        result = Sequential()
        for index, module in enumerate(chain.from_iterable([self] * other)):
            result.add_module(str(index), module)
        return result

    def __rmul__(self, other: int) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        size = len(self)
        for offset in range(size, size * other, size or 1):
            for index in range(size):
                self.add_module(str(index + offset), self._modules[str(index)])
        return self

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def forward(self, input: Any) -> Tensor:
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> Self:
        """Add a module at the end and return the Sequential."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before an index and return the Sequential.

        Raises
        ------
        AssertionError
            If `module` is no module.
        IndexError
            If the index is out of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self._modules)
        if not (-size <= index <= size):
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += size
        for i in range(size, index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add all modules of an iterable at the end and return the Sequential."""
        for layer in sequential:
            self.append(layer)
        return self


def _check_sequential(other) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)!s} is given."
        )
