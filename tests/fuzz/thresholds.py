"""Sizes at which kernels choose: every small constant of the sources that run a call, and its neighbours.

python tests/fuzz/thresholds.py         the constants, and where each is first named
"""

import ast
import functools
import operator
import re
from pathlib import Path

CSRC = Path(__file__).resolve().parents[2] / "csrc"
PLACES = (
    "kernels/**/*.[ch]",
    "kernels/**/*.inc",
    "core/threads*.[ch]",
    "core/blocks.[ch]",
    "call/*.c",
    "kernel_abi/*.h",
)
MOST = 4096  # the largest size of one dim
SMALL = (0, 1, 1, 2, 2, 3, 4, 5, 7)
_WORKS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.FloorDiv: operator.floordiv,
}


def _number(text, known):
    """The value of a constant expression in C, or None."""

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return known[node.id]
        if isinstance(node, ast.BinOp):
            return _WORKS[type(node.op)](value(node.left), value(node.right))
        raise KeyError(node)

    try:
        text = re.sub(r"(?<=[\da-fA-F])[uUlL]+\b", "", text).replace("/", "//")
        found = value(ast.parse(text.strip(), mode="eval").body)
    except (KeyError, SyntaxError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if abs(found) < 2**40 else None


def constants(text):
    """(name or the comparison, value) of the constants that a source has."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    known = {}
    for body in re.findall(r"\benum\b\s*\w*\s*\{([^{}]*)\}", text):
        last = -1
        for item in body.split(","):
            name, _, given = item.strip().partition("=")
            last = _number(given, known) if given else None if last is None else last + 1
            if name.strip() and last is not None:
                known[name.strip()] = last
                if given:
                    yield name.strip(), last
    for name, given in re.findall(r"^[ \t]*#define[ \t]+(\w+)[ \t]+(.+)$", text, flags=re.M):
        if (found := _number(given, known)) is not None:
            known[name] = found
            yield name, found
    compared = r"(?<![<>-])([<>]=?|[=!]=|%)\s*(\d+[uUlL]*(?:\s*(?:<<|\*)\s*\d+)*)(?![\w.])"
    for sign, given in re.findall(compared, text):
        if (found := _number(given, known)) is not None:
            yield f"{sign} {given}", found


@functools.cache
def collected():
    """{constant: where it was found first}, of those that a dim can have."""
    found = {}
    for path in sorted({path for place in PLACES for path in CSRC.glob(place)}):
        for name, value in constants(path.read_text()):
            if 2 < value <= 1 << 20:
                found.setdefault(value, f"{path.relative_to(CSRC)}: {name}")
    return found


@functools.cache
def sizes():
    """What random calls draw from: below, at and above each constant, and small multiples."""
    near = {n + d for c in collected() for n in (c, 2 * c, 3 * c) for d in (-1, 0, 1)}
    return sorted(n for n in near if 2 < n <= MOST)


@functools.cache
def _by_scale():
    """The sizes by their number of bits: each scale is as likely as the others."""
    scales = {}
    for n in sizes():
        scales.setdefault(n.bit_length(), []).append(n)
    return list(scales.values())


def draw(rng, most=MOST):
    """A size at a threshold, at most that."""
    scales = [scale for scale in _by_scale() if scale[0] <= most]
    return rng.choice([n for n in rng.choice(scales) if n <= most]) if scales else max(most, 0)


def shape(rng, work):
    """One dim at a threshold and small others, of that many elements together; at times all at thresholds."""
    dims, left = [rng.choice(SMALL) for _ in range(rng.choice((0, 1, 1, 2, 3)))], work
    for n in dims:
        left //= max(n, 1)
    dims.insert(rng.randint(0, len(dims)), draw(rng, min(left, MOST)))
    if rng.random() < 0.3 and len(dims) > 1:
        at = rng.randrange(len(dims))
        others = 1
        for i, n in enumerate(dims):
            others *= max(n, 1) if i != at else 1
        dims[at] = draw(rng, max(min(work // others, MOST), 3))
    return tuple(dims)


def resized(rng, shapes, work, square=False):
    """Other sizes for dims of a call: equal sizes stay equal, so that the shapes still fit each other.

    One size goes to a threshold, some of the others become small; the work of a call is at most the product
    of its different sizes, each as often as one tensor has it (square: times the largest once more)."""
    names = sorted({n for s in shapes for n in s if n > 0})
    if not names:
        return {}
    times = {n: max(tuple(s).count(n) for s in shapes) for n in names}
    low, share = ((1, 1, 2, 2, 3), 1) if rng.random() < 0.5 else (SMALL, 0.35)  # thin ones, or as they were
    new = {n: rng.choice(low) for n in names if rng.random() < share}

    def cost():
        total, largest = 1, 1
        for n in names:
            size = max(new.get(n, n), 1)
            total *= size ** times[n]
            largest = max(largest, size)
        return total * (largest if square else 1)

    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2)))):
        for most in (MOST, 600, 140, 40, 12):
            new[name] = draw(rng, most)
            if cost() <= work:
                break
        else:
            new[name] = rng.choice(SMALL)
    return new


if __name__ == "__main__":
    for value, where in sorted(collected().items()):
        print(f"{value:8} {where}")
