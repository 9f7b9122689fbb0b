"""Programs for tests/fuzz/fuzz_ops.py: one call of one operator of the table each, as Python source.

Half of the calls start from a sample of tests/op_samples and change a thing or two, so that they get past the
checks; the others take their arguments from the schema alone. The same (seed, number) gives the same program.
"""

import random
import re

import numpy as np
import thresholds
from fuzz_kit import CONVERTED, FLOATS, LAYOUTS

import make_stub
import op_samples as samples
from rushlight import _C

EDGES = [2**31 - 1, 2**31, -(2**31), 2**32 + 1, 2**48, 2**62, 2**63, *[2**63 - 1, -(2**63)] * 2, 10**30]
WORDS = [
    *("mean", "sum", "constant", "reflect", "replicate", "circular", "same", "valid", "none", "tanh"),
    *(
        "floor",
        "trunc",
        "add",
        "multiply",
        "prod",
        "amax",
        "amin",
        "reduced",
        "complete",
        "r",
        "fro",
        "nuc",
        "",
        "?",
    ),
    *("\ud800", "x" * 300),
]
ODD = [
    *("None", "'x'", "object()", "1j", "[1, 'a']", "b''", "{}", "(1,) * 70", "np.int64(3)", "np.float32(2)"),
    *("np.ones((2, 2))", "torch.float32", "len", "[[1], [2]]", "[None]", "(True,)", "1.5", "torch.Size([2])"),
]
HUGE = ["2**48", "2**49", "2**58", "2**61", "2**62", "2**63 - 1"]
MEDDLING = ["data", "more", "meta", "resize", "grow", "fill", "grad", "detach"]
BACKWARDS = ["sum"] * 4 + ["double"] * 3 + ["expanded", "wild", "wrong", "meta", "hook", "saved", "race"]
# beside the operators: what else writes, reads or replaces a tensor's memory
OTHERS = [
    ("__getitem__", "__getitem__(Tensor input, Key key)"),
    ("__setitem__", "__setitem__(Tensor input, Key key, Operand value)"),
    ("__setattr__", "__setattr__(Tensor input, Attribute name, Tensor value)"),
    ("to", "to(Tensor input, ScalarType dtype)"),
    ("to_device", "to(Tensor input, Device device, ScalarType? dtype=None)"),
    ("item", "item(Tensor input)"),
    ("numpy", "numpy(Tensor input)"),
    ("deepcopy", "__deepcopy__(Tensor input, Memo memo)"),
    ("new_full", "new_full(Tensor input, int[] size, Scalar value)"),
    ("new_tensor", "new_tensor(Tensor input, Nested data)"),
    ("view_as", "view_as(Tensor input, Tensor other)"),
    ("requires_grad_", "requires_grad_(Tensor input, bool requires_grad=True)"),
    ("__iadd__", "__iadd__(Tensor input, Operand other)"),
    ("__rsub__", "__rsub__(Tensor input, Operand other)"),
    ("__matmul__", "__matmul__(Tensor input, Tensor other)"),
]
# operators whose work is a dim more than their largest tensor has
CUBIC = {
    name for family in ("linalg", "attention", "distance", "ctc") for name in samples.FAMILIES[family].SAMPLES
}
SIZED = {name for family in ("gemm", "conv", "attention") for name in samples.FAMILIES[family].SAMPLES}
LISTS = 1 << 11  # the flag of operators over lists, which Python reaches through optimizers only
KIT = 1 << 30  # the flag of what fuzz_kit.py itself defines


class Argument:
    def __init__(self, text, keyword_only):
        declared, _, self.default = text.partition("=")
        kind, _, self.name = declared.rpartition(" ")
        kind = re.sub(r"\([a-z]!?\)", "", kind)
        self.optional = kind.endswith("?")
        self.kind, bracket, length = kind.rstrip("?").partition("[")
        self.listed, self.length = bool(bracket), int(length[:-1] or 0) if bracket else 0
        self.keyword_only = keyword_only


def arguments(schema):
    inside, starred, found = schema[schema.index("(") + 1 :].rsplit(" -> ", 1)[0].rstrip()[:-1], False, []
    for text in make_stub.split_arguments(inside):
        if text == "*":
            starred = True
        else:
            found.append(Argument(text, starred))
    return found


def table():
    """The operators that Python can call, and OTHERS: (id, operator, its arguments)."""
    entries = list(samples.OPERATORS.values())
    dtypes = (1 << len(samples.DTYPES)) - 1
    for name, schema in OTHERS:
        entries.append(
            dict(id=name, name=schema.split("(")[0], flags=samples.METHOD, dtypes=dtypes, schema=schema)
        )
    entries += [
        dict(row, name=f"STEPS[{row['id']!r}]", flags=KIT) for row in _C._ops_table() if row["flags"] & LISTS
    ]
    return [(entry["id"], entry, arguments(entry["schema"])) for entry in entries]


class Program:
    """One call being written. `lines` make the tensors; `values` are the expressions of the arguments."""

    WORK = 1 << 17  # about what a call may do, in elements or products; now and then eight times as much
    SIZED = 0.25  # how many calls have dims at the kernels' thresholds

    def __init__(self, entries, seed, number):
        self.rng = random.Random(f"{seed}/{number}")
        self.id, self.entry, self.arguments = self.rng.choice(entries)
        if self.rng.random() < 0.2:  # what has the most kernels for different sizes
            self.id, self.entry, self.arguments = self.rng.choice(
                [e for e in entries if e[0] in SIZED] or entries
            )
        self.lines, self.names, self.shape = [], [], None
        self.dtypes = samples.admitted(self.entry) or ["float32"]
        self.sized = self.rng.random() < self.SIZED
        self.work = self.WORK << 3 * (self.rng.random() < 0.05)
        self.sizes = {}  # of a sample's dims, which are others here

    def odds(self, chance):
        return self.rng.random() < chance

    # ---- numbers ----
    def integer(self, argument=None):
        rng, name = self.rng, argument.name if argument else ""
        if self.odds(0.12):
            return repr(rng.choice(EDGES))
        if name.startswith(("dim", "axis", "start_dim", "end_dim")):
            n = max(len(self.shape or ()), 1) if self.odds(0.8) else 5
            return str(rng.randint(-n, n - 1))
        number = rng.choice((0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -2, -3))
        if self.names and self.odds(0.02):
            return f"Int({number}, {rng.choice(self.names)}, {rng.choice(MEDDLING)!r})"
        return str(number)

    def integers(self, argument):
        n = argument.length or self.rng.choice((0, 1, 1, 2, 2, 3, 4))
        if self.odds(0.15):
            n = self.rng.choice((0, 1, 2, 3, 4, 5, 65))
        elif argument.length and self.odds(0.3):
            return self.integer(argument)
        values = [self.integer(argument) for _ in range(n)]
        if argument.kind == "MaybeInt" and self.odds(0.3):
            values = ["None" if self.odds(0.5) else v for v in values]
        return f"[{', '.join(values)}]" if self.odds(0.3) else f"({''.join(v + ', ' for v in values)})"

    def number(self):
        if self.odds(0.4):
            return self.integer()
        return self.rng.choice(
            ("0.0", "-0.0", "0.5", "1.5", "-2.5", "nan", "inf", "-inf", "1e308", "1e-300", "True", "1e-5")
        )

    # ---- tensors ----
    def some_shape(self):
        rng = self.rng
        if self.odds(0.02):
            return rng.choice(((0, 2**62), (2**62, 0), (0, 2**40, 2**40), (2**31, 2**31, 0, 4), (1,) * 64))
        if self.odds(0.03):
            return rng.choice(((40000,), (200, 160), (3, 16, 33, 31), (70000, 1)))
        if self.shape is not None and self.odds(0.65):
            shape = list(self.shape)
            if shape and self.odds(0.3):
                shape[rng.randrange(len(shape))] = rng.choice((0, 1, 1, 2, 3, 5))
            if self.odds(0.15):
                shape = shape[1:]
            return tuple(shape)
        if self.sized:
            return thresholds.shape(rng, self.work >> (8 if self.id in CUBIC else 3))
        ndim = rng.choice((0, 1, 1, 2, 2, 3, 4, 5))
        return tuple(rng.choice((0, 1, 2, 2, 3, 4, 5, 8, 17)) for _ in range(ndim))

    def made(self, shape, kind="x", dtype=None):
        """An expression for a new tensor."""
        rng = self.rng
        if dtype is None:
            dtype = rng.choice(self.dtypes if self.odds(0.85) else samples.DTYPES)
            if self.odds(0.35) and "float32" in self.dtypes:
                dtype = "float32"
        if self.odds(0.02):
            return f"converted({shape}, {rng.choice(CONVERTED)!r})"
        if self.odds(0.05):
            kind = "wild"
        return f"t({shape}, {dtype!r}, {kind!r}, {rng.randrange(9)})"

    def laid(self, text, chance=0.35):
        """Perhaps in another layout."""
        rng = self.rng
        while self.odds(chance):
            how = rng.choice([*LAYOUTS, *("leaf", "node", "part", "transposed", "strided") * 3])
            more = {"huge": HUGE, "stretched": HUGE}.get(how)
            numbers = f", {rng.randrange(64)}" + (f", {rng.choice(more)}" if more else "")
            text, chance = f"lay({text}, {how!r}{numbers})", 0.15
        return text

    def named(self, text):
        name = "abcdefghijklm"[len(self.names) % 13] + "1" * (len(self.names) // 13)
        self.names.append(name)
        self.lines.append(f"{name} = {text}")
        return name

    def again(self):
        """A tensor that shares the memory of an earlier one."""
        a = self.rng.choice(self.names)
        views = (f"{a}.detach()", f"{a}.reshape(-1)", f"lay({a}, 'flipped')", f"{a}[:1]")
        return self.rng.choice((a, a, *views))

    def tensor(self, argument):
        rng, name = self.rng, argument.name
        if self.names and self.odds(0.08):
            return self.again()
        shape = self.some_shape()
        if name.startswith(("ind", "target", "repeats")) and self.odds(0.9):
            dtype = rng.choice(("int64", "int64", "int64", "int32", "uint8", "bool"))
            high, wild = rng.choice((1, 2, 3, 5, 8)), self.odds(0.3)
            text = f"at({shape}, {high}, {dtype!r}, {wild}, {rng.randrange(9)})"
        elif name in ("mask", "condition") and self.odds(0.9):
            text = f"t({shape}, 'bool', 'x', {rng.randrange(9)})"
        else:
            text = self.made(shape)
        if self.shape is None:
            self.shape = shape
        return self.named(self.laid(text))

    # ---- any argument ----
    def key(self):
        def one():
            i = self.rng.randrange(7)
            if i == 0:
                return "None"
            if i == 1:
                return "..."
            if i == 2:
                step = self.rng.choice((None, 1, 2, 2**63 - 1))
                return f"slice({self.integer()}, {self.integer()}, {step})"
            if i == 3:
                return self.tensor(Argument("Tensor index", False))
            return self.integer()

        return f"({''.join(one() + ', ' for _ in range(self.rng.randrange(4)))})" if self.odds(0.6) else one()

    def value(self, argument):
        """An expression for an argument, by its type in the schema."""
        rng, kind = self.rng, argument.kind
        if self.odds(0.02):
            return rng.choice(ODD)
        if argument.optional and self.odds(0.4):
            return "None"
        if kind == "Tensor" and argument.listed:
            items = [self.tensor(argument) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
            if "?[" in self.entry["schema"] and self.odds(0.4):
                items.insert(rng.randint(0, len(items)), "None")
            return f"[{', '.join(items)}]"
        if kind == "Tensor" or (kind == "Operand" and self.odds(0.6)):
            return self.tensor(argument)
        if kind in ("Operand", "Scalar", "Number", "float"):
            return self.number()
        if kind == "Padding" and self.odds(0.2):
            return repr(rng.choice(("same", "valid", "full")))
        if argument.listed:
            return self.integers(argument)
        choices = {
            "bool": ("True", "False"),
            "str": [ascii(w) for w in WORDS],
            "ScalarType": [f"torch.{d}" for d in (*samples.DTYPES, *CONVERTED[:3])]
            + ["float", "int", "bool"],
            "Layout": ("torch.strided", "torch.sparse_coo"),
            "Device": ("'cpu'", "'meta'", "'cuda'", "torch.device('cpu')", "0"),
            "MemoryFormat": ("torch.channels_last", "torch.contiguous_format", "torch.preserve_format"),
            "Generator": ("torch.default_generator", "torch.Generator()"),
            "Attribute": ("'data'", "'grad'", "'requires_grad'"),
            "Memo": ("{}",),
            "Nested": ("[[1, 2.5]]", "[]", "[1, [2]]", "2**70", "'a'", "[[], []]"),
        }
        if kind == "Key":
            return self.key()
        return self.integer(argument) if kind == "int" else rng.choice(choices[kind])

    def from_schema(self):
        values = {}
        for a in self.arguments:
            if a.default and self.odds(0.6):
                continue
            values[a.name] = self.value(a)
        return values

    def from_sample(self):
        """A sample's arguments, a few of them changed."""
        rng = self.rng
        sample, dtype = rng.choice(samples.of(self.id)), rng.choice(self.dtypes)
        if "float32" in self.dtypes and self.odds(0.3):
            dtype = "float32"
        grad = self.odds(0.6) and dtype in FLOATS
        given = dict(zip([a.name for a in self.arguments], sample.args)) | sample.kwargs
        if self.sized:
            shapes = [extent(p) for value in given.values() for p in placeholders(value)]
            self.sizes = thresholds.resized(rng, shapes, self.work, self.id in CUBIC)
        values = {name: self.placed(value, dtype, grad) for name, value in given.items()}
        for _ in range(rng.choice((0, 0, 0, 1) if self.sized else (0, 1, 1, 1, 2, 3))):
            self.change(values, given)
        return values

    def placed(self, value, dtype, grad):
        if isinstance(value, list) and any(isinstance(v, samples.Placeholder) for v in value):
            return f"[{', '.join(self.placed(v, dtype, grad) for v in value)}]"
        if not isinstance(value, samples.Placeholder):
            return value.__name__ if isinstance(value, type) else repr(value)
        if value.values is None:
            kind = "wild" if value.special else "pos" if value.low > 0 else "unit" if value.low == 0 else "x"
            shape = tuple(self.sizes.get(n, n) for n in value.shape)
            text = self.made(shape, kind, dtype)
        else:
            array = np.asarray(value.values)
            shape, name = array.shape, dtype if value.follows else str(array.dtype)
            larger = tuple(self.sizes.get(n, n) for n in shape)
            if larger != shape and array.dtype.kind in "bi" and array.size:
                shape, high = larger, int(array.max()) + 1
                text = f"at({shape}, {high}, {name!r})"
            elif larger != shape:
                shape, text = larger, self.made(larger, "x", name)
            else:
                text = (
                    f"v({array.tolist()}, {name!r}, {shape})" if array.size < 100 else f"t({shape}, {name!r})"
                )
        if self.shape is None:
            self.shape = shape
        if grad and value.follows and self.odds(0.6):
            text = f"lay({text}, {self.rng.choice(('leaf', 'leaf', 'node', 'part'))!r})"
        return self.named(self.laid(text, 0.15))

    def change(self, values, given):
        """One thing becomes another."""
        rng = self.rng
        name = rng.choice([a.name for a in self.arguments])
        argument = next(a for a in self.arguments if a.name == name)
        old = given.get(name)
        if name in values and self.odds(0.1):
            del values[name]
        elif name in values and isinstance(old, samples.Placeholder) and self.odds(0.7):
            values[name] = self.again() if self.odds(0.15) else self.named(self.laid(values[name], 0.9))
        elif name in values and isinstance(old, tuple) and old and self.odds(0.7):
            parts = [repr(v) for v in old]
            parts[rng.randrange(len(parts))] = self.integer()
            if self.odds(0.3):
                parts = rng.choice((parts[1:], [*parts, self.integer()], parts[:1] * 3))
            values[name] = f"({''.join(v + ', ' for v in parts)})"
        else:
            values[name] = self.value(argument)

    # ---- the call ----
    def given(self, values, method):
        """The arguments as positional and keyword texts."""
        positional, named = [], []
        by_name = self.odds(0.15)
        for i, argument in enumerate(self.arguments):
            name = argument.name
            by_name |= name not in values or argument.keyword_only or (i > 1 and self.odds(0.05))
            if name not in values:
                continue
            if name == "from" or (method and i == 0) or not by_name:  # `from` is no name in Python
                positional.append(values[name])
            else:
                named.append(f"{name}={values[name]}")
        return positional, named

    def call(self, values):
        flags, name = self.entry["flags"], self.entry["name"]
        form = self.rng.choice([f for f in (samples.FN, samples.METHOD, samples.NN, KIT) if flags & f])
        if flags & samples.INPLACE and self.odds(0.35):
            name += "_"
            form = samples.METHOD if flags & samples.METHOD else form
        positional, named = self.given(values, form == samples.METHOD)
        if flags & samples.OUT and not name.endswith("_") and form != samples.METHOD and self.odds(0.2):
            named.append(f"out={self.out()}")
        owner = {samples.FN: "torch.", samples.NN: "nn.", KIT: ""}.get(form)
        if owner is None:
            owner = positional.pop(0) if positional else "torch.ones((2, 3))"
            owner = f"{owner}." if owner.isidentifier() else f"({owner})."
        return f"{owner}{name}({', '.join([*positional, *named])})"

    def out(self):
        if self.names and self.odds(0.3):
            return self.again()
        shape = self.rng.choice(((), (0,), self.shape or ()))
        return self.named(self.laid(self.made(shape)))

    def around(self):
        """What stands around the call: a mode, or somebody who meddles; nothing most of the time."""
        rng = self.rng
        if not self.names or self.odds(0.88):
            return "{}"
        who, how = rng.choice(self.names), rng.choice(MEDDLING)
        if self.odds(0.2):
            who = f"[{', '.join(self.names)}]"
        times, after = rng.randrange(5), rng.choice((1, 1, 2, 3, 5))
        return rng.choice(
            (
                f"with meddling({who}, {how!r}, {times}, {after}):\n    {{}}",
                f"r = race(lambda: {{}}, {who}, {how!r})",
                f"with packing({who}, {how!r}):\n    {{}}",
                "with no_grad():\n    {}",
                "with inference_mode():\n    {}",
            )
        )

    def text(self):
        calls = samples.SAMPLES.get(self.id)
        values = self.from_sample() if calls and self.odds(0.65) else self.from_schema()
        call, around = self.call(values), self.around()
        self.lines += [around.format(call if "lambda" in around else f"r = {call}"), "look(r)"]
        if self.odds(0.6):
            more = "".join(f", {name}" for name in self.names)
            self.lines.append(f"backward(r, {self.rng.choice(BACKWARDS)!r}{more})")
        return "\n".join(self.lines)


def placeholders(value):
    """Those of an argument of a sample."""
    if isinstance(value, (list, tuple)):
        return [p for v in value for p in placeholders(v)]
    return [value] if isinstance(value, samples.Placeholder) and value.shape is not None else []


def extent(placeholder):
    return placeholder.shape if placeholder.values is None else np.shape(placeholder.values)


def features(text):
    """What --without can name."""
    found = {how for how in LAYOUTS if f"'{how}'" in text}
    words = ("race", "meddling", "Int", "out=", "backward", "converted", "packing")
    found |= {word for word in words if word in text}
    if re.search(r"2\*\*(4[89]|[56]\d)|\d{10}", text):
        found.add("large")
    return found
