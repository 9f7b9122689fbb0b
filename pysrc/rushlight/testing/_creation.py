"""make_tensor(): random tensors of any dtype."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import rushlight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype, memory_format
    from rushlight.types import Device

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def _kind(dtype):
    name = str(dtype).removeprefix("torch.")
    if dtype is rushlight.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    if name in _FLOAT8:
        return "float8"
    if dtype.is_floating_point and dtype.itemsize > 1:
        return "float"
    if name.lstrip("u") in ("int8", "int16", "int32", "int64"):
        return "int"
    raise TypeError(
        f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request support, "
        "file an issue at: https://github.com/pytorch/pytorch/issues"
    )


def _limits(dtype, kind):
    """Return the least number that the dtype holds, the first above, and the limits by default."""
    if kind == "bool":
        return 0, 2, 0, 2
    if kind == "int":
        facts = rushlight.iinfo(dtype)
        return facts.min, facts.max + (dtype is not rushlight.int64), -9, 10
    facts = rushlight.finfo(dtype)
    return facts.min, facts.max, -9, 9


def _range(low, high, dtype, kind):
    least, above, default_low, default_high = _limits(dtype, kind)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(n, float) and math.isnan(n) for n in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and kind in ("float", "complex"):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated "
            "since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= above:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {above})"
        )
    low, high = (min(max(n, least), above) for n in (low, high))
    return (math.ceil(low), math.ceil(high)) if kind in ("bool", "int") else (low, high)


def _uniform(shape, dtype, device, low, high):
    numbers = rushlight.empty(shape, dtype=dtype, device=device)
    if high - low >= rushlight.finfo(dtype).max:
        return numbers.uniform_(low / 2, high / 2).mul_(2)
    return numbers.uniform_(low, high)


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """Return a tensor of random numbers in [low, high), by default about [-9, 9)."""
    shape = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    whole = dtype is rushlight.bool or not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and whole:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}"
        )
    gaps = noncontiguous and math.prod(shape) > 1
    if gaps:
        shape = (*shape[:-1], 2 * shape[-1])
    kind = _kind(dtype)
    low, high = _range(low, high, dtype, kind)
    if kind in ("bool", "int"):
        result = rushlight.randint(low, high, shape, device=device, dtype=dtype)
    elif kind == "complex":
        parts = _uniform((*shape, 2), dtype.to_real(), device, low, high)
        result = parts.view(dtype).reshape(shape)
    elif kind == "float8":
        result = _uniform(shape, rushlight.float32, device, low, high).to(dtype)
    else:
        result = _uniform(shape, dtype, device, low, high)
    if gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if kind in ("bool", "int") else rushlight.finfo(dtype).tiny
    if kind in ("float", "complex"):
        result.requires_grad = requires_grad
    return result
