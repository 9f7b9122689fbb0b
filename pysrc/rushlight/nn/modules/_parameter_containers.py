"""Modules that hold parameters: in a list, in a dict. Their public home is container.py."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import rushlight
from rushlight._C import Parameter, Tensor
from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView
    from typing import Any, Self, SupportsIndex, overload


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
