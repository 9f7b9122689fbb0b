"""Calls of the operators whose samples do not grow by themselves: {id: size -> its cases}."""

import math
from dataclasses import replace

import numpy as np

import op_samples as samples
from op_cases import SIZES, call, grown_cases, laid
from op_samples.sample import Placeholder, fixed, x
from op_table_layers import LAYERS, ints, side
from op_table_linalg import LINALG
from op_table_losses import LOSSES
from op_table_nets import NETS
from op_table_products import PRODUCTS

_DTYPES = ("bfloat16", "float16", "float64", "int64", "int32", "uint8", "bool")


def _mask(shape):
    return fixed(np.random.default_rng(5).random(shape) < 0.5)


def _distinct(shape):
    n = math.prod(shape)
    return Placeholder(shape, values=np.random.default_rng(n).permutation(n).reshape(shape))


# ---- elements ----
def _prelu(s):
    return [
        call("image", x(*s.image), x(s.image[1])),
        call("channels_last", laid(s.image, "channels_last"), x(s.image[1])),
        call("one weight", x(*s.line), x(1)),
    ]


def _to_copy(s):
    def to(name):
        return lambda library: lambda t: t.to(getattr(library, name))

    def back(name):
        return lambda library: lambda t: t.to(library.float32)

    there = [call(f"to {name}", x(*s.line, low=0), by=to(name)) for name in _DTYPES]
    turned = [
        call(f"{layout} to bfloat16", laid(s.rows, layout), by=to("bfloat16"))
        for layout in ("transposed", "columns")
    ]
    half = fixed(np.random.default_rng(1).random(s.line).astype(np.float16))
    double = fixed(np.random.default_rng(1).random(s.line))
    more = [("float16", half), ("float64", double), ("int64", ints(s.line, 99)), ("bool", _mask(s.line))]
    return there + turned + [call(f"from {name}", made, by=back(name)) for name, made in more]


def _contiguous(s):
    return [
        call("transposed", laid(s.rows, "transposed")),
        call("columns", laid(s.rows, "columns")),
        call("channels_last", laid(s.image, "channels_last")),
        call("to channels_last", x(*s.image), by=_channels_last),
    ]


def _channels_last(library):
    return lambda t: t.contiguous(memory_format=library.channels_last)


def _clone(s):
    return [
        call("line", x(*s.line)),
        call("transposed", laid(s.rows, "transposed")),
        call("columns", laid(s.rows, "columns")),
        call("channels_last", laid(s.image, "channels_last")),
    ]


def _copy(s):
    return [
        call("line", x(*s.line), x(*s.line)),
        call("from transposed", x(*s.rows), laid(s.rows, "transposed")),
        call("to transposed", laid(s.rows, "transposed"), x(*s.rows)),
        call("to columns", laid(s.rows, "columns"), x(*s.rows)),
        call("row", x(*s.rows), x(s.rows[1])),
    ]


def _cat(s):
    rows, columns = s.rows
    return [
        call("rows", [x(rows // 2, columns), x(rows // 2, columns)]),
        call("columns", [x(rows, columns // 2), x(rows, columns // 2)], 1),
        call("channels", [x(*s.image), x(*s.image)], 1),
    ]


def _stack(s):
    half = (s.rows[0] // 2, s.rows[1])
    return [call(f"dim {d}", [x(*half), x(*half)], d) for d in (0, 1, -1)]


def _pad(s):
    zeros = [call("rows", x(*s.rows), (1, 2)), call("image", x(*s.image), (1, 1, 1, 1))]
    modes = ("reflect", "replicate", "circular")
    return zeros + [call(mode, x(*s.image), (1, 1, 1, 1), mode) for mode in modes]


def _interleave(s):
    counts = fixed(np.full(s.rows[0] // 2, 2))
    return [call("rows", x(s.rows[0] // 2, s.rows[1]), counts, 0)]


def _pixels(s):
    return [call("image", x(*s.image), 2)]


# ---- indices ----
def _indexed(*more):
    """(tensor, dim, a vector of indices, further arguments) by rows and by columns."""

    def cases(s):
        rows, columns = s.rows
        by_rows = [m((rows // 2, columns)) if callable(m) else m for m in more]
        by_columns = [m((rows, columns // 2)) if callable(m) else m for m in more]
        return [
            call("rows", x(*s.rows), 0, _permuted(rows), *by_rows),
            call("columns", x(*s.rows), 1, _permuted(columns), *by_columns),
        ]

    return cases


def _permuted(n):
    return fixed(np.random.default_rng(n).permutation(n)[: n // 2])


def _of_shape(shape):
    return x(*shape)


def _scattered(*more, **named):
    """(tensor, dim, indices of every element, further arguments); no place is written twice."""

    def cases(s):
        order = np.random.default_rng(1)
        rows = np.argsort(order.random(s.rows), 0)
        columns = np.argsort(order.random(s.rows), 1)
        given = [m(s.rows) if callable(m) else m for m in more]
        return [
            call("rows", x(*s.rows), 0, fixed(rows), *given, **named),
            call("columns", x(*s.rows), 1, fixed(columns), *given, **named),
        ]

    return cases


def _embedding(s):
    return [call("rows", x(1000, s.rows[1]), ints((s.rows[0],), 1000))]


def _masked(*more):
    def cases(s):
        given = [m(s.rows) if callable(m) else m for m in more]
        return [call("rows", x(*s.rows), _mask(s.rows), *given)]

    return cases


def _index(s):
    half = _permuted(s.rows[0])
    return [
        call("rows", x(*s.rows), [half]),
        call("columns", x(*s.rows), [None, _permuted(s.rows[1])]),
        call("mask", x(*s.rows), [_mask(s.rows)]),
    ]


def _index_put(s):
    rows, columns = s.rows
    return [call("rows", x(*s.rows), [_permuted(rows)], x(rows // 2, columns))]


def _take(s):
    return [call("line", x(*s.line), ints(s.line, s.line[0]))]


def _put(s):
    order = np.random.default_rng(1).permutation(s.line[0])
    return [call("line", x(*s.line), fixed(order), x(*s.line))]


# ---- sorting, creation ----
def _sorted(*more, **named):
    def cases(s):
        return [
            call("rows", _distinct(s.rows), *more, dim=-1, **named),
            call("columns", _distinct(s.rows), *more, dim=0, **named),
            call("line", _distinct(s.line), *more, dim=0, **named),
        ]

    return cases


def _searched(s):
    borders = np.sort(np.random.default_rng(4).uniform(-4, 4, 1000)).astype(np.float32)
    return [call("line", fixed(borders), x(*s.line))]


def _whole(*more, **named):
    return lambda s: [call("line", x(*s.line), *more, **named)]


def _shaped(*before, after=()):
    return lambda s: [call("line", *before, s.line, *after)]


def _counted(*before):
    return lambda s: [call("line", *before, *s.line)]


def _eye(s):
    return [call("square", side(s))]


TABLE = {
    "prelu": _prelu,
    "to_copy": _to_copy,
    "contiguous": _contiguous,
    "clone": _clone,
    "copy_": _copy,
    "cat": _cat,
    "stack": _stack,
    "pad": _pad,
    "repeat_interleave_tensor": _interleave,
    "pixel_shuffle": _pixels,
    "pixel_unshuffle": _pixels,
    **LAYERS,
    **LINALG,
    **LOSSES,
    **NETS,
    **PRODUCTS,
    "index": _index,
    "index_put": _index_put,
    "index_select": _indexed(),
    "index_add": _indexed(_of_shape),
    "index_copy": _indexed(_of_shape),
    "index_reduce": _indexed(_of_shape, "amax"),
    "index_fill": _indexed(x()),
    "index_fill_number": _indexed(1),
    "gather": _scattered(),
    "scatter": _scattered(_of_shape),
    "scatter_add": _scattered(_of_shape),
    "scatter_number": _scattered(1),
    "scatter_join": _scattered(_of_shape, reduce="add"),
    "scatter_number_join": _scattered(1, reduce="add"),
    "scatter_reduce": _scattered(_of_shape, "sum"),
    "take_along_dim": lambda s: [call("columns", x(*s.rows), ints(s.rows, s.rows[1]), 1)],
    "masked_fill": _masked(1),
    "masked_scatter": _masked(_of_shape),
    "masked_select": _masked(),
    "take": _take,
    "put": _put,
    "embedding": _embedding,
    "sort": _sorted(),
    "argsort": _sorted(),
    "sort_stable": _sorted(stable=True),
    "argsort_stable": _sorted(stable=True),
    "topk": _sorted(5),
    "kthvalue": _sorted(5),
    "mode": _sorted(),
    **{op: _whole() for op in ("median", "nanmedian")},
    **{op: _sorted() for op in ("median_dim", "nanmedian_dim")},
    **{op: _sorted(0.3) for op in ("quantile_number", "nanquantile_number")},
    "searchsorted": _searched,
    "isin": lambda s: [call("line", x(*s.line), x(1000))],
    "histc": _whole(100),
    "bincount": lambda s: [call("line", ints(s.line, 1000))],
    "msort": lambda s: [call("rows", _distinct(s.rows))],
    **{op: _shaped() for op in ("empty", "zeros", "ones", "rand", "randn")},
    "full": _shaped(after=(2.0,)),
    "randint": _shaped(100),
    "randint_low": _shaped(-5, 100),
    "randperm": _counted(),
    "normal_size": _shaped(0.0, 1.0),
    "arange": _counted(),
    "arange_start": _counted(0),
    "linspace": _counted(0, 1),
    "eye": _eye,
}


def cases_of(op, family, size):
    """The cases of an operator at one of SIZES."""
    if op in getattr(samples.FAMILIES[family], "BACKWARD", ()):
        return []  # timed as the gradient of its forward operator
    if op in TABLE:
        return [replace(case, op=op, family=family) for case in TABLE[op](SIZES[size])]
    return grown_cases(op, family, SIZES[size])
