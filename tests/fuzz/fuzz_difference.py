"""What fuzz_ops.py --difference does: one program with all kernels and with the reference kernels, compared.

Results, what the call did to its tensors, and gradients: the same shapes, strides, dtypes, exceptions and
texts; whole numbers and what is only moved exactly; floats as near as their dtype and the sums in them allow.
The same (seed, number) gives the same program.
"""

import math
import os
import re

import fuzz_calls
import numpy as np

import op_samples as samples

WAYS = ("ref", os.environ.get("FUZZ_KERNELS", "all"))  # all, avx2 or none
LAYOUTS = ("transposed", "strided", "offset", "overlapping", "expanded", "last", "flipped", "short", "flat")
# operators of which no two computations give the same, and why
APART = {
    **{name: "memory as it was" for name in samples.UNINITIALISED},
    **{name: "a storage of its own" for name in ("to_device", "deepcopy", "__setattr__")},
    **{name: "vectors of any sign, order and basis" for name in ("linalg_eig", "linalg_eigh", "linalg_svd")},
}
MOVES = ("view", "view_copy", "data_movement", "index", "factory", "sort")
EACH = ("arith", "math", "clamp", "activation", *MOVES)
FAMILY = {name: family for family, module in samples.FAMILIES.items() for name in module.SAMPLES}
LARGEST = 1 << 22  # elements of a result whose values are compared
ROOTS = 16  # results of a call whose gradients are compared
EPS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}


def table(entries):
    return [entry for entry in entries if entry[0] not in APART and not entry[1]["flags"] & fuzz_calls.KIT]


class Program(fuzz_calls.Program):
    """A call that nobody disturbs, on larger tensors."""

    WORK, SIZED = 1 << 17, 0.6

    def made(self, shape, kind="x", dtype=None):
        text = super().made(shape, "each" if kind == "x" and self.odds(0.6) else kind, dtype)
        return text if not text.startswith("converted") else f"t({shape}, 'float32', 'each')"

    def laid(self, text, chance=0.35):
        rng = self.rng
        while self.odds(chance):
            how = rng.choice(("leaf", "leaf", "node", *LAYOUTS))
            text, chance = f"lay({text}, {how!r}, {rng.randrange(64)})", 0.15
        return text

    def value(self, argument):
        while True:
            lines, names = len(self.lines), len(self.names)
            text = super().value(argument)
            if text not in fuzz_calls.ODD or text == "None":
                return text
            del self.lines[lines:], self.names[names:]

    def integer(self, argument=None):
        while True:
            text = super().integer(argument)
            if not text.startswith("Int") and abs(int(text)) < 2**20:
                return text

    def number(self):
        while (text := super().number()) in ("1e308", "1e-300"):
            pass
        return text

    def around(self):
        return "{}"

    def text(self):
        lines = super().text().split("\n")
        return "\n".join([line for line in lines if not line.startswith(("look", "backward"))] + ["look(r)"])


# ---- both ways ----
def ran(kit, text, way):
    """What a program leaves: (exception or None, {name: tensor as seen() tells})."""
    names = vars(kit).copy()
    own = set(names)
    kit._C._kernels(way)
    kit.torch.default_generator.manual_seed(7)
    try:
        error, made = None, {}
        try:
            exec(text, names)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
        made = {name: a for name, a in names.items() if name not in own or name == "r"}
        tensors = {f"{name}[{i}]": a for name in made for i, a in enumerate(kit.tensors(made[name]))}
        if error is None:
            error = gradients(kit, tensors)
        found = {name: seen(a) for name, a in tensors.items()}
        found |= {
            f"{name}.grad": seen(a.grad) for name, a in tensors.items() if a.is_leaf and a.grad is not None
        }
        if error is None and "r" in made and not kit.tensors(made["r"]):
            found["r"] = repr(made["r"])
        return error, found
    finally:
        kit._C._kernels("all")
        kit._C._set_grad_enabled(True)


def gradients(kit, tensors):
    """Backward of the results, with a gradient that differs from place to place."""
    try:
        roots = [a for name, a in tensors.items() if name.startswith("r[")]
        for i, root in enumerate(roots[:ROOTS]):
            if root.requires_grad and not root.is_leaf and root.numel():
                gradient = kit.t(tuple(root.shape), str(root.dtype)[6:], "each", i + 3)
                root.backward(gradient, retain_graph=True)
    except Exception as caught:
        return f"backward: {type(caught).__name__}: {caught}"
    return None


def seen(a):
    """A tensor as (how it lies, its values as NumPy has them)."""
    a = a.detach()
    what = (str(a.dtype)[6:], tuple(a.shape), a.stride())
    if not 0 < a.numel() <= LARGEST or a.device.type != "cpu":
        return what, np.zeros(0)
    wide = a.to(type_of(a, "float64")) if what[0] in EPS else a
    wide = wide.contiguous()
    try:
        return what, np.array(wide.numpy())
    except TypeError:  # a dtype that NumPy does not have, as bytes
        return what, np.array(wide.reshape(-1).view(type_of(a, "uint8")).numpy())


def type_of(a, name):
    from rushlight import _C

    return getattr(_C, name)


def differ(kit, text, name):
    """(what differs or None, whether it returned)."""
    (error, expected), (other, found) = (ran(kit, text, way) for way in WAYS)
    if "allocate memory" in f"{error} {other}":  # one of the two needed scratch that was not there
        return None, False
    if (error and plain(error)) != (other and plain(other)):
        return f"{WAYS[0]}: {error or 'returned'}\n{WAYS[1]}: {other or 'returned'}", True
    if error:
        return None, False
    if list(expected) != list(found):
        return f"{list(expected)} and {list(found)}", True
    allowed = Allowed(text, name, expected)
    for key, want in expected.items():
        if wrong := allowed.wrong(key, want, found[key]):
            return f"{key}: {wrong}", True
    return None, True


def comparer(seed):
    """A function of the number of a call: what differs between both ways, or None."""
    import fuzz_kit

    entries = table(fuzz_calls.table())

    def compare(number):
        program = Program(entries, seed, number)
        return differ(fuzz_kit, program.text(), program.id)[0]

    return compare


def plain(error):
    """The text of an error without what may differ: addresses, which of several wrong indices it names."""
    return re.sub(r"(invalid max index: )-?\d+", r"\1", re.sub(r"0x[\da-f]+", "0x", error))


class Allowed:
    """How far two computations of a call may be apart."""

    def __init__(self, text, name, expected):
        family = FAMILY.get(name, "")
        floats = [(what[0], values) for key, (what, values) in tensors_of(expected) if what[0] in EPS]
        finite = [np.abs(values[np.isfinite(values)]) for _, values in floats]
        self.largest = max((float(a.max()) for a in finite if a.size), default=1.0)
        self.eps = max((EPS[name] for name, _ in floats), default=0)
        self.terms = max((values.size for _, (_, values) in tensors_of(expected)), default=1)
        self.each = family in EACH
        self.moves = family in MOVES
        # a zero of the padding times infinity: some kernels add it, others leave it out
        # or of a score times an infinite scale
        self.has_nan = (family == "conv" and "'wild'" in text) or bool(re.search(r"scale=-?inf", text))

    def wrong(self, key, want, found):
        if isinstance(want, str):
            return None if want == found or self.near_texts(want, found) else f"{want} and {found}"
        (what, a), (other, b) = want, found
        if what != other:
            return f"{what} and {other}"
        if what[0] not in EPS:
            bad = (a != b) & ((a == a) | (b == b))
        else:
            bad = self.far(a, b, what[0], ".grad" in key)
        if not bad.any():
            return None
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        return f"{what}: {int(bad.sum())} of {bad.size} differ, at {at} {a[at]!r} and {b[at]!r}"

    def far(self, a, b, dtype, gradient):
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            if self.each and not gradient:
                limit = self.eps * (16 * np.abs(a) + 4 * max(min(self.largest, 1e4), 1))
            else:
                # sums are in float32 at least; halves are rounded at the end
                large = np.float64(max(self.largest, 1))
                sums = min(self.eps, EPS["float32"]) * (64 + 4 * math.sqrt(self.terms)) * large * large
                limit = sums + (self.eps > EPS["float32"]) * self.eps * (8 * np.abs(a) + 2 * large)
                if self.largest > 1e4:  # sums in another order may overflow
                    same |= ~np.isfinite(a) | ~np.isfinite(b)
            if self.has_nan:
                same |= np.isnan(a) | np.isnan(b)
            return ~(same | (np.abs(a - b) <= limit))

    def near_texts(self, want, found):
        try:
            return math.isclose(float(want), float(found), rel_tol=64 * (self.eps or 1e-15))
        except ValueError:
            return False


def tensors_of(expected):
    return [(key, value) for key, value in expected.items() if not isinstance(value, str)]
