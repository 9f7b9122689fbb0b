"""Calls of operators at the sizes that bench_ops.py times: the samples of tests/op_samples, grown.

An operator with a sample in a family that grows by itself needs no line here:

    a `dim` in its schema     [rows, columns] along each, whole, and images over their dims 0, 2 and 3
    arith, math, act ...      a line; transposed, channels_last, every other column; rows by one row
    any other                 the sample with its shape grown, if its tensors share one

What does not grow (weights, indices, windows) has its calls in op_table.py.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(1, str(Path(__file__).parents[1] / "tests"))

import op_samples as samples  # noqa: E402
from op_samples.sample import Placeholder, Sample, x  # noqa: E402


class Size(NamedTuple):
    """Shapes of about so many elements."""

    line: tuple
    rows: tuple
    volume: tuple
    image: tuple

    def of_rank(self, n):
        return self[n - 1] if 1 <= n <= 4 else None


SIZES = {
    "1e3": Size((1000,), (16, 64), (4, 16, 16), (1, 16, 8, 8)),
    "1e5": Size((100_000,), (130, 768), (16, 80, 80), (2, 64, 28, 28)),
    "4e6": Size((4_000_000,), (5208, 768), (64, 250, 250), (10, 128, 56, 56)),
}
# How values lie in memory, and how that is turned to the shape.
_LAID = {
    "line": (lambda a: a, lambda t: t),
    "transposed": (lambda a: a.T, lambda t: t.t()),
    "channels_last": (lambda a: np.moveaxis(a, 1, -1), lambda t: t.permute(0, 3, 1, 2)),
    "columns": (lambda a: a.repeat(2, -1), lambda t: t[..., ::2]),
}
LAYOUTS = tuple(_LAID)
ELEMENTWISE = ("arith", "math", "clamp", "activation", "special")
# families whose `dim` is what is computed along
ALONG = ("reduce", "softmax", "linalg", "distance", "activation")

# ---- the groups that are told apart in the summary ----
GROUPS = {
    "elementwise": ELEMENTWISE,
    "reductions": ("reduce",),
    "norms and softmax": ("norm", "softmax"),
    "layout and dtype": ("data_movement",),
}
_GROUP_OF = {
    **dict.fromkeys(("linalg_vector_norm", "norm", "norm_text", "dist"), "reductions"),
    **dict.fromkeys(("clone", "copy_", "to_copy", "contiguous", "fill_", "full_like"), "layout and dtype"),
    **dict.fromkeys(("masked_fill",), "elementwise"),
}

# ---- where a function is at home ----
_DOMAIN = {
    **dict.fromkeys(("log2", "log10"), (0.5, 4)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.99, 0.99)),
    **dict.fromkeys(("prod", "cumprod"), (0.99, 1.01)),
    "log1p": (-0.9, 4),
    "acosh": (1.1, 4),
}


@dataclass
class Laid(Placeholder):
    """A placeholder whose tensor lies in memory in one of LAYOUTS."""

    layout: str = "line"

    def tensors(self, libraries, dtype, seed):
        """The same values in each library."""
        values, name = self.array(dtype, seed), dtype if self.follows else None
        return [self.tensor(library, values, name) for library in libraries]

    def tensor(self, library, values, name):
        memory, turn = _LAID[self.layout if values.ndim else "line"]
        made = library.from_numpy(np.array(memory(values), order="C")).clone()
        return turn(made.to(getattr(library, name)) if name else made)


@dataclass
class Case:
    """A call of an operator; `call` finds another function than the operator's own."""

    op: str
    family: str
    variant: str
    sample: Sample
    call: object = None
    flops: int = 0

    @property
    def group(self):
        named = next((group for group, families in GROUPS.items() if self.family in families), self.family)
        return _GROUP_OF.get(self.op, named)

    def function(self, library):
        return self.call(library) if self.call else samples.function(library, samples.OPERATORS[self.op])

    def build(self, libraries, dtype):
        """[(args, kwargs) in each library] of equal values."""
        made = []

        def tensors(p):
            laid = p if isinstance(p, Laid) else Laid(**vars(p))
            made.append(laid.tensors(libraries, dtype, len(made)))
            return _Made(len(made) - 1)

        filled = self.sample.mapped(tensors)
        return [_with(filled, [each[i] for each in made]) for i in range(len(libraries))]

    def dtype(self, wanted):
        """The dtype asked for, or one that the operator has."""
        admitted = set(samples.admitted(samples.OPERATORS[self.op])) - set(self.sample.without)
        return wanted if wanted in admitted or not admitted else "int32" if "int32" in admitted else "bool"


class _Made(int):
    """Stands for the tensor of this number."""


def _with(sample, tensors):
    def one(value):
        if isinstance(value, list):
            return [one(v) for v in value]
        return tensors[value] if isinstance(value, _Made) else value

    return [one(a) for a in sample.args], {k: one(v) for k, v in sample.kwargs.items()}


# ---- growing ----
def _shape(p):
    return p.shape if p.values is None else np.shape(p.values)


def _placeholders(sample):
    found = []
    sample.mapped(found.append)
    return found


def _common_shape(sample):
    """The one shape of a sample's tensors, or None; numbers of no dims may stand beside them."""
    found = _placeholders(sample)
    shapes = {_shape(p) for p in found} - {()}
    plain = all(
        p.values is None or np.ndim(p.values) == 0 or np.asarray(p.values).dtype == bool for p in found
    )
    return shapes.pop() if plain and len(shapes) == 1 and 0 not in max(shapes) else None


def grown(op, sample, shape, layout="line"):
    def grow(p):
        if _shape(p) == ():
            return p
        if p.values is not None:
            values = np.random.default_rng(7).random(shape) < 0.5
            return Laid(**vars(p) | {"values": values, "layout": layout})
        low, high = _DOMAIN.get(op, (p.low, p.high))
        own = {"shape": shape, "low": low, "high": high, "special": False, "layout": layout}
        return Laid(**vars(p) | own)

    return sample.mapped(grow)


def options(sample):
    """The numbers and words of a call."""
    shown = [repr(a) for a in sample.args if not isinstance(a, (Placeholder, list))]
    shown += [f"{k}={v!r}" for k, v in sample.kwargs.items() if not isinstance(v, (Placeholder, list))]
    return ", ".join(shown)


def _kinds(these, most):
    """The first of the samples with the same options, which grow."""
    kinds = {}
    for sample in these:
        if _common_shape(sample):
            kinds.setdefault((options(sample), len(_placeholders(sample))), sample)
    return list(kinds.values())[:most]


def _elementwise(op, size):
    for first, sample in enumerate(_kinds(samples.of(op), 3)):
        for layout in LAYOUTS[: 1 if first else None]:
            shape = {"line": size.line, "channels_last": size.image}.get(layout, size.rows)
            yield layout, grown(op, sample, shape, layout)
        if not first and len(_placeholders(sample)) == 2:
            yield "rows by one row", _broadcast(grown(op, sample, size.rows), size.rows[1:])


def _broadcast(sample, shape):
    """The last tensor has this shape instead."""
    last = _placeholders(sample)[-1]
    return sample.mapped(lambda p: replace(p, shape=shape) if p is last and p.values is None else p)


def _without(sample, place):
    """A call without its `dim`, which is at this place, and what follows."""
    named = {k: v for k, v in sample.kwargs.items() if k not in ("dim", "keepdim")}
    return replace(sample, args=sample.args[:place], kwargs=named)


def _along(op, size, schema):
    """Along the last dim, the first, all of them."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") -> ")]
    parameters = [p.split("=")[0].split()[-1] for p in inside.split(", ")]
    if "*" in parameters[: parameters.index("dim")]:
        return  # by name only
    place = parameters.index("dim")
    cut = [_without(s, place) for s in samples.of(op) if _common_shape(s)]
    for first, sample in enumerate(_kinds(cut, 2)):
        rows = grown(op, sample, size.rows)
        yield "rows", replace(rows, kwargs=rows.kwargs | {"dim": -1})
        yield "columns", replace(rows, kwargs=rows.kwargs | {"dim": 0})
        if "? dim" in schema or "int[] dim=" in schema:
            yield "whole", grown(op, sample, size.line)
        if "int[]" in schema and not first:
            image = grown(op, sample, size.image)
            yield "image", replace(image, kwargs=image.kwargs | {"dim": (0, 2, 3)})


def _by_rank(op, size):
    for sample in _kinds(samples.of(op), 3):
        shape = size.of_rank(len(_common_shape(sample)))
        if shape:
            yield f"{len(shape)}-d", grown(op, sample, shape)


def _generic(op, family, size):
    schema = samples.OPERATORS[op]["schema"]
    if family in ALONG and " dim" in schema:
        return _along(op, size, schema)
    if family in ELEMENTWISE:
        return _elementwise(op, size)
    return _by_rank(op, size)


def grown_cases(op, family, size):
    """The cases of an operator from its samples, at a Size."""
    cases = {}
    for variant, sample in _generic(op, family, size):
        own = options(sample)
        cases.setdefault(f"{variant} ({own})" if own else variant, sample)
    return [Case(op, family, variant, sample) for variant, sample in cases.items()]


def call(variant, *args, flops=0, by=None, **kwargs):
    """A line of op_table.py."""
    return Case("", "", variant, Sample(args, kwargs), by, flops)


def laid(shape, layout):
    return Laid(**vars(x(*shape)) | {"layout": layout})
