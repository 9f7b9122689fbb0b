"""assert_close(): numbers, tensors and what holds them, within tolerances."""

from __future__ import annotations

import cmath
import sys
import warnings
from collections.abc import Mapping, Sequence
from math import inf

import rushlight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# rtol and atol of a dtype, where none are given
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}
_WIDE = (rushlight.uint16, rushlight.uint32, rushlight.uint64)
_FILE_AN_ISSUE = (
    "resulted in the unexpected exception above. If you are a user and see this message during normal "
    "operation please file an issue at https://github.com/pytorch/pytorch/issues. If you are a developer and "
    "working on the comparison functions, please except the previous error and raise an expressive "
    "`ErrorMeta` instead."
)


class _Mismatch(Exception):
    """What differs, and at which item."""

    def __init__(self, kind, text, item):
        self.kind, self.text, self.item = kind, text, item

    def error(self, msg=None):
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.item:
            text += f"\n\nThe failure occurred for item {_path(self.item)}"
        return self.kind(msg(text) if callable(msg) else text)


def _path(item):
    return "".join(str([step]) for step in item)


def _is(value, kinds, numpy_kind):
    numpy = sys.modules.get("numpy")
    return isinstance(value, kinds) or (numpy is not None and isinstance(value, getattr(numpy, numpy_kind)))


def _tolerances(names, options, item, table=_TOLERANCES):
    rtol, atol = options["rtol"], options["atol"]
    if (rtol is None) != (atol is None):
        lacking = "rtol" if rtol is None else "atol"
        raise _Mismatch(
            ValueError,
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {lacking}.",
            item,
        )
    if rtol is not None:
        return rtol, atol
    found = [table.get(name, (0.0, 0.0)) for name in names]
    return max(f[0] for f in found), max(f[1] for f in found)


def _difference_text(what, extra, absolute, relative, rtol, atol):
    """Return the text of an error; a difference is a number and where it is, if it is somewhere."""

    def line(name, difference, tolerance):
        number, at = difference
        text = f"{name.title()} difference: {number}" if at is None else ""
        text = text or f"Greatest {name} difference: {number} at index {at}"
        return text + ("" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)")

    verdict = "equal" if rtol == 0 and atol == 0 else "close"
    lines = [line("absolute", absolute, atol), line("relative", relative, rtol)]
    return "\n".join([f"{what} are not {verdict}!\n", extra, *lines])


def _numbers_text(actual, expected, rtol, atol):
    absolute = abs(actual - expected)
    relative = inf if expected == 0 else absolute / abs(expected)
    extra = f"Expected {expected} but got {actual}."
    return _difference_text("Scalars", extra, (absolute, None), (relative, None), rtol, atol)


# ---- pairs: each kind is a function that answers None where it does not suit, else the comparison ----
def _none_pair(actual, expected, item, options):
    def compare():
        if actual is not None or expected is not None:
            raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", item)

    return compare if actual is None or expected is None else None


def _bool_pair(actual, expected, item, options):
    if not (_is(actual, bool, "bool_") and _is(expected, bool, "bool_")):
        return None
    actual, expected = bool(actual), bool(expected)

    def compare():
        if actual is not expected:
            raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", item)

    return compare


def _number_pair(actual, expected, item, options):
    kinds = tuple(_NUMBERS)
    if not (_is(actual, kinds, "number") and _is(expected, kinds, "number")):
        return None
    actual, expected = (n.item() if hasattr(n, "item") else n for n in (actual, expected))
    rtol, atol = _tolerances([_NUMBERS[type(n)] for n in (actual, expected)], options, item)

    def compare():
        if options["check_dtype"] and type(actual) is not type(expected):
            text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
            raise _Mismatch(AssertionError, text, item)
        if actual == expected or (options["equal_nan"] and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
            raise _Mismatch(AssertionError, _numbers_text(actual, expected, rtol, atol), item)

    return compare


def _tensor_pair(actual, expected, item, options):
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or not (options["allow_subclasses"] or type(actual) is type(expected)):
        return None
    try:
        actual, expected = (_as_tensor(value) for value in (actual, expected))
    except Exception:  # what is no tensor is another kind of pair
        return None
    names = [str(t.dtype).removeprefix("torch.") for t in (actual, expected)]
    rtol, atol = _tolerances(names, options, item)
    return lambda: _compare_tensors(actual, expected, rtol, atol, item, options)


def _as_tensor(value):
    return value if isinstance(value, rushlight.Tensor) else rushlight.as_tensor(value)


def _compare_tensors(actual, expected, rtol, atol, item, options):
    stride = options["check_stride"] and actual.layout == expected.layout == rushlight.strided
    asked = {
        "shape": True,
        "layout": options["check_layout"],
        "stride()": stride,
        "device": options["check_device"],
        "dtype": options["check_dtype"],
    }
    for name, wanted in asked.items():
        a, b = ((t.stride() if name == "stride()" else getattr(t, name)) for t in (actual, expected))
        if wanted and a != b:
            text = f"The values for attribute '{name}' do not match: {a} != {b}."
            raise _Mismatch(AssertionError, text, item)
    if actual.is_meta or expected.is_meta:
        return
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        dtypes = [rushlight.int64 if t.dtype in _WIDE else t.dtype for t in (actual, expected)]
        dtype = rushlight.promote_types(*dtypes)
        actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.dtype.is_floating_point and actual.itemsize == 1 and (rtol != 0.0 or atol != 0.0):
        text = f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low"
        text += " dimensional floats. Please use rtol=0.0 and atol=0.0."
        raise _Mismatch(AssertionError, text, item)
    _compare_values(actual.detach(), expected.detach(), rtol, atol, item, options["equal_nan"])


def _compare_values(actual, expected, rtol, atol, item, equal_nan):
    a, b = _computable(actual), _computable(expected)
    if a.is_complex():
        matches, absolute, relative = _complex_differences(a, b, rtol, atol, equal_nan)
    else:
        matches = rushlight.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).flatten()
        if bool(matches.all()):
            return
        a, b = a.flatten(), b.flatten()
        absolute = rushlight.abs(a - b) if a.dtype != rushlight.bool else a.int().sub(b.int()).abs()
        relative = absolute / rushlight.abs(b if b.dtype != rushlight.bool else b.int())
    if bool(matches.all()):
        return
    if actual.dim() == 0:
        text = _numbers_text(actual.item(), expected.item(), rtol, atol)
        raise _Mismatch(AssertionError, text, item)
    count, wrong = matches.numel(), int((~matches).sum())
    extra = f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"
    if actual.dtype.is_floating_point and actual.itemsize == 1:
        first = _place(int((~matches).nonzero()[0]), actual.shape)
        text = f"Tensor-likes are not 'equal'!\n\n{extra}\nThe first mismatched element is at index {first}."
        raise _Mismatch(AssertionError, text, item)
    greatest = [_greatest(d, matches, actual.shape) for d in (absolute, relative)]
    text = _difference_text("Tensor-likes", extra, *greatest, rtol, atol)
    raise _Mismatch(AssertionError, text, item)


def _computable(tensor):
    """Return the tensor in a dtype that operators compute with; complex ones stay."""
    if tensor.dtype in _WIDE:
        return tensor.to(rushlight.int64)
    if tensor.dtype.is_floating_point and tensor.itemsize == 1:
        return tensor.float()
    if tensor.is_complex() or tensor.dtype.is_floating_point or tensor.dtype == rushlight.bool:
        return tensor
    return tensor.to(rushlight.int64)


def _complex_differences(actual, expected, rtol, atol, equal_nan):
    """Return what matches and the differences, number by number: no operator computes with complex ones."""
    matches, absolute, relative = [], [], []
    for a, b in zip(actual.flatten().tolist(), expected.flatten().tolist()):
        distance = abs(a - b)
        near = cmath.isfinite(distance) and distance <= atol + rtol * abs(b)
        both_nan = equal_nan and cmath.isnan(a) and cmath.isnan(b)
        matches.append(bool(a == b or near or both_nan))
        absolute.append(distance)
        relative.append(distance / abs(b) if b else inf if distance else 0.0)
    real = actual.dtype.to_real()
    made = [rushlight.tensor(numbers, dtype=real) for numbers in (absolute, relative)]
    return rushlight.tensor(matches, dtype=rushlight.bool), *made


def _greatest(differences, matches, shape):
    number, index = differences.masked_fill(matches, 0).max(0)
    return number.item(), _place(int(index), shape)


def _place(index, shape):
    found = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        found.append(rest)
    return tuple(reversed(found))


_PAIRS = {
    "NonePair": _none_pair,
    "BooleanPair": _bool_pair,
    "NumberPair": _number_pair,
    "TensorLikePair": _tensor_pair,
}


def _pairs(actual, expected, item, options):
    """Return the comparisons of all that the two hold."""
    both = (actual, expected)
    if all(isinstance(each, Sequence) and not isinstance(each, str) for each in both):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Mismatch(AssertionError, text, item)
        keys = range(len(actual))
    elif all(isinstance(each, Mapping) for each in both):
        keys = _shared_keys(set(actual), set(expected), item)
    else:
        return [_pair(actual, expected, item, options)]
    return [pair for key in keys for pair in _pairs(actual[key], expected[key], (*item, key), options)]


def _shared_keys(actual, expected, item):
    if actual != expected:
        text = "The keys of the mappings do not match:\n"
        text += f"Missing keys in the actual mapping: {sorted(expected - actual)}\n"
        text += f"Additional keys in the actual mapping: {sorted(actual - expected)}"
        raise _Mismatch(AssertionError, text, item)
    try:
        return sorted(actual)
    except Exception:  # keys that have no order come as they are
        return actual


def _pair(actual, expected, item, options):
    for name, kind in _PAIRS.items():
        try:
            pair = kind(actual, expected, item, options)
        except _Mismatch:
            raise
        except Exception as error:
            raise RuntimeError(
                f"Originating a {name}() at item {_path(item)} with\n\n{type(actual).__name__}(): {actual}"
                f"\n\nand\n\n{type(expected).__name__}(): {expected}\n\n{_FILE_AN_ISSUE}"
            ) from error
        if pair is not None:
            return pair
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise _Mismatch(TypeError, text, item)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Tensors, arrays, numbers, and sequences and mappings of these are compared. Without tolerances those of
    the dtype are taken. ``msg`` replaces the text of the error, or is a function that changes it.
    """
    __tracebackhide__ = True
    options = {
        "allow_subclasses": allow_subclasses,
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    try:
        pairs = _pairs(actual, expected, (), options)
    except _Mismatch as mismatch:  # what cannot be compared says so in its own words
        raise mismatch.error() from None
    found = None
    for compare in pairs:
        try:
            compare()
        except _Mismatch as mismatch:
            found = found or mismatch
    if found:
        raise found.error(msg)


_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: assert_close()."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, rushlight.Tensor):
        actual = rushlight.tensor(actual)
    if not isinstance(expected, rushlight.Tensor):
        expected = rushlight.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        names = [str(t.dtype).removeprefix("torch.") for t in (actual, expected)]
        rtol, atol = _tolerances(names, {"rtol": None, "atol": None}, (), _OLD_TOLERANCES)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )
