"""How tensors are printed."""

from __future__ import annotations

import math

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Options:
    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode = None


PRINT_OPTS = _Options()
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
_GAP = object()  # stands where elements are left out


def set_printoptions(
    precision: Any = None,
    threshold: float | None = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    profile: Any = None,
    sci_mode: Any = None,
) -> None:
    """Set how tensors are printed.

    Parameters
    ----------
    precision : int, optional
        Number of digits behind the point; 4 at the start.
    threshold : float, optional
        Number of elements above which tensors are summarized; 1000 at the start.
    edgeitems : int, optional
        Number of elements that a summary shows at each end; 3 at the start.
    linewidth : int, optional
        Number of characters in a line; 80 at the start.
    profile : {'default', 'short', 'full'}, optional
        Set all of these at once.
    sci_mode : bool, optional
        Use scientific notation always or never; None, also if not given, chooses it by the numbers.

    Notes
    -----
    Same as torch.set_printoptions: https://docs.pytorch.org/docs/2.13/generated/torch.set_printoptions.html

    Examples
    --------
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.23456])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    o = PRINT_OPTS
    if profile is not None:
        if profile in _PROFILES:
            o.precision, o.threshold, o.edgeitems, o.linewidth = _PROFILES[profile]
    if precision is not None:
        o.precision = precision
    if threshold is not None:
        o.threshold = threshold
    if edgeitems is not None:
        o.edgeitems = edgeitems
    if linewidth is not None:
        o.linewidth = linewidth
    o.sci_mode = sci_mode


def get_printoptions():
    """Return the options as a dict."""
    o = PRINT_OPTS
    return {
        "precision": o.precision,
        "threshold": o.threshold,
        "edgeitems": o.edgeitems,
        "linewidth": o.linewidth,
        "sci_mode": o.sci_mode,
    }


class printoptions:
    """Change the print options while a block runs."""

    def __init__(self, **options):
        self.options = options

    def __enter__(self):
        self.before = get_printoptions()
        set_printoptions(**self.options)

    def __exit__(self, *error):
        set_printoptions(**self.before)


class _Formatter:
    """Chooses one notation and width for all numbers of a tensor."""

    def __init__(self, numbers, floating):
        self.floating = floating
        self.whole, self.scientific, self.width = True, False, 1
        if not floating:
            self.width = max([1, *(len(str(n)) for n in numbers)])
            return
        numbers = [n for n in numbers if n and math.isfinite(n)]
        if not numbers:
            return
        self.whole = all(n == math.ceil(n) for n in numbers)
        low, high = min(map(abs, numbers)), max(map(abs, numbers))
        if PRINT_OPTS.sci_mode is None:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        else:
            self.scientific = PRINT_OPTS.sci_mode
        point = self.whole and not self.scientific
        self.width = max(len(format(n, self._spec())) for n in numbers) + point

    def _spec(self):
        if self.scientific:
            return f".{PRINT_OPTS.precision}e"
        return ".0f" if self.whole else f".{PRINT_OPTS.precision}f"

    def __call__(self, n):
        if not self.floating:
            return str(n).rjust(self.width)
        text = format(n, self._spec())
        if self.whole and not self.scientific and math.isfinite(n):
            text += "."
        return text.rjust(self.width)


class _ComplexFormatter:
    """The same for the two parts of complex numbers."""

    def __init__(self, numbers):
        self.real = _Formatter([n.real for n in numbers], True)
        self.imaginary = _Formatter([n.imag for n in numbers], True)
        self.width = self.real.width + self.imaginary.width + 1

    def __call__(self, n):
        imaginary = self.imaginary(n.imag).lstrip()
        return self.real(n.real) + ("" if imaginary[0] == "-" else "+") + imaginary + "j"


def _formatter_of(t, numbers):
    return _ComplexFormatter(numbers) if t.is_complex() else _Formatter(numbers, t.is_floating_point())


def _ends(t):
    """Cut the middle out of every long dimension; return the rest and which dimensions were cut."""
    edge, cut = PRINT_OPTS.edgeitems, []
    for dim, size in enumerate(t.shape):
        cut.append(size > 2 * edge)
        if size > 2 * edge:
            t = _C.cat((t.narrow(dim, 0, edge), t.narrow(dim, size - edge, edge)), dim)
    return t, cut


def _flat(rows):
    """Return the numbers of nested lists, level by level."""
    while rows and isinstance(rows[0], list):
        rows = [item for row in rows for item in row]
    return rows


def _mark(rows, cut):
    """Put the mark for left out elements into nested lists."""
    if len(cut) > 1:
        rows = [_mark(row, cut[1:]) for row in rows]
    if cut[0]:
        rows = [*rows[: PRINT_OPTS.edgeitems], _GAP, *rows[PRINT_OPTS.edgeitems :]]
    return rows


def _vector_text(row, indent, formatter):
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (formatter.width + 2)))
    texts = [" ..." if n is _GAP else formatter(n) for n in row]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _rows_text(rows, dim, indent, formatter):
    if dim == 1:
        return _vector_text(rows, indent, formatter)
    texts = ["..." if row is _GAP else _rows_text(row, dim - 1, indent + 1, formatter) for row in rows]
    return "[" + ("," + "\n" * (dim - 1) + " " * (indent + 1)).join(texts) + "]"


def _tensor_text(t, indent):
    cut = [False] * t.dim()
    if t.dim() and t.numel() > PRINT_OPTS.threshold:
        if not PRINT_OPTS.edgeitems:
            return "[...]"
        t, cut = _ends(t)
    rows = t.tolist()
    if t.dim() == 0:
        return _formatter_of(t, [rows])(rows)
    return _rows_text(_mark(rows, cut), t.dim(), indent, _formatter_of(t, _flat(rows)))


def _suffixes(t):
    default = _C.get_default_dtype()
    default_complex = _C.complex128 if default is _C.float64 else _C.complex64
    if t.device.type != "cpu":
        yield f"device='{t.device}'"
    if t.is_meta:
        yield f"size={tuple(t.shape)}"
        if t.dtype != default:
            yield f"dtype={t.dtype}"
    elif t.numel() == 0:
        if t.dim() != 1:
            yield f"size={tuple(t.shape)}"
        if t.dtype != default:
            yield f"dtype={t.dtype}"
    else:
        if not PRINT_OPTS.edgeitems:
            yield f"size={tuple(t.shape)}"
        if t.dtype not in (default, default_complex, _C.int64, _C.bool):
            yield f"dtype={t.dtype}"
    if t.grad_fn is not None:
        yield f"grad_fn=<{type(t.grad_fn).__name__}>"
    elif t.requires_grad:
        yield "requires_grad=True"


def _with_suffixes(text, suffixes, indent, fresh_line=False):
    at = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if fresh_line or at + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            at, fresh_line = indent + len(suffix), False
        else:
            text += ", " + suffix
            at += len(suffix) + 2
    return text + ")"


def _str(t, *, tensor_contents=None):
    """Return the text of a tensor; ``tensor_contents`` replaces the numbers."""
    plain = type(t) in (_C.Tensor, _C.Parameter)
    prefix = "tensor(" if plain else type(t).__name__ + "("
    indent = len(prefix)
    if tensor_contents is None:
        tensor_contents = "..." if t.is_meta else _tensor_text(t.data, indent) if t.numel() else "[]"
    text = prefix + tensor_contents
    text = _with_suffixes(text, _suffixes(t), indent)
    return f"Parameter({text})" if isinstance(t, _C.Parameter) and not plain else text
