"""Containers of modules and of parameters."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

import rushlight
from rushlight._C import Parameter, Tensor

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView
    from typing import Any, Self, SupportsIndex, overload

    from rushlight._C import Tensor

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


# ---- modules one after another ----
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


# ---- lists and dicts of modules ----
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


# ---- modules that hold parameters: in a list, in a dict. Their public home is container.py ----
def _line(key, value, kind) -> str:
    """How ParameterList and ParameterDict show an entry."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.size())
    device = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({key}): {what} containing: [{kind(value)} of size {size}{device}]"


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """Hold parameters in a list, so that the parent finds them.

    Tensors become Parameters when they are put in; other values may stand in the list, too.

    Parameters
    ----------
    values : iterable, optional
        What the list begins with.

    Raises
    ------
    TypeError
        If `values` is not iterable, or is a tensor.
    IndexError
        For an index that is out of range.

    Notes
    -----
    The list itself is not callable.
    Same as torch.nn.ParameterList: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ParameterList.html

    Examples
    --------
    >>> params = nn.ParameterList([torch.ones(2, 3), torch.zeros(3)])
    >>> len(params), params[1].requires_grad
    (2, True)
    >>> params
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2x3]
        (1): Parameter containing: [torch.float32 of size 3]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx) -> str:
        idx = operator.index(idx)
        if not (-len(self) <= idx < len(self)):
            raise IndexError(f"index {idx} is out of range")
        return str(idx + len(self) if idx < 0 else idx)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, idx: SupportsIndex) -> Any: ...
        @overload
        def __getitem__(self, idx: slice) -> Self: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: SupportsIndex, param: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end and return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add all values of an iterable at the end and return the list.

        Raises
        ------
        TypeError
            If `values` is not iterable, or is a tensor.
        """
        # a tensor is iterable, but surely not meant here
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got " + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(index, value, lambda t: t.dtype) for index, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Hold parameters in a dictionary, so that the parent finds them.

    Tensors become Parameters when they are put in; other values may stand in the dictionary, too.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
        Names and values that the dictionary begins with; a plain dict in the order of its sorted keys.

    Raises
    ------
    TypeError
        If `parameters` is not iterable, or a key is no string.
    KeyError
        When a key that is not there is deleted.
    AttributeError
        When the value of a key that is not there is read.

    Notes
    -----
    The dictionary itself is not callable.
    Same as torch.nn.ParameterDict: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ParameterDict.html

    Examples
    --------
    >>> params = nn.ParameterDict({"scale": torch.ones(3), "shift": torch.zeros(3)})
    >>> (params["scale"] * 2 + params["shift"]).tolist()
    [2.0, 2.0, 2.0]
    >>> params
    ParameterDict(
        (scale): Parameter containing: [torch.FloatTensor of size 3]
        (shift): Parameter containing: [torch.FloatTensor of size 3]
    )
    """

    def __init__(
        self, parameters: ParameterDict | Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None
    ) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}  # in the order of insertion, whatever kind the values are
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is "
                f"not a string (type is '{type(key).__name__}'). Open an issue on "
                "github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a ParameterDict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any | None = None) -> Any:
        """Return the value of a key; put ``default`` there first when it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in self._keys.copy():
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair of key and value and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any | None = None) -> Any:
        """Return the value of a key, ``default`` when it is missing."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any | None = None) -> ParameterDict:
        """Return a ParameterDict that has ``default`` under each of the keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the pairs of key and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: ParameterDict | Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Take over the values of a mapping (a plain dict in the order of its sorted keys) or of pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an "
                "iterable of key/value pairs, but got " + type(parameters).__name__
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            for key, value in parameters.items():
                self[key] = value
            return
        if isinstance(parameters, Mapping):
            for key, value in sorted(parameters.items()):
                self[key] = value
            return
        for index, pair in enumerate(parameters):
            where = f"ParameterDict update sequence element #{index}"
            if not isinstance(pair, Iterable):
                raise TypeError(f"{where} should be Iterable; is{type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"{where} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]

    def extra_repr(self) -> str:
        return "\n".join(_line(key, value, rushlight.typename) for key, value in self.items())

    def __call__(self, input: Tensor) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
