"""Signatures of operators in Python, made from their declarations."""

from dataclasses import dataclass


def default_text(default):
    """A default of a schema in Python."""
    if default.startswith("["):
        inside = default[1:-1]
        return f"({inside},)" if inside and "," not in inside else f"({inside})"
    return default


@dataclass
class Parameter:
    name: str
    default: str | None = None
    keyword_only: bool = False
    rest: bool = False  # *name

    def __str__(self):
        stars = "*" if self.rest else ""
        return stars + self.name + ("" if self.default is None else f"={self.default}")


def is_mirrored(overload):
    """A number on the left side of a binary operator: PyTorch calls it self, where others have `input`."""
    first = overload.arguments[0] if overload.arguments else None
    return first is not None and first.name == "self" and first.type in ("Number", "Scalar")


def named(overload, at):
    if at == 0 and is_mirrored(overload):
        return "input"
    name = overload.arguments[at].name
    return f"{name}_" if name == "from" else name  # which no parameter of Python is called


def parameters(overload, how):
    """Those of one overload; of a method, without the tensor that it belongs to."""
    found = [
        Parameter(named(overload, i), a.default and default_text(a.default), a.keyword_only)
        for i, a in enumerate(overload.arguments)
    ]
    optional = False
    for each in found:  # a plain one behind one with a default: it is given by keyword, as PyTorch has it
        each.keyword_only |= optional and each.default is None
        optional |= each.default is not None and not each.keyword_only
    if how.takes_out and overload.has("OUT"):
        found.append(Parameter("out", "None", True))
    return found[1:] if how.is_method else found


def rest_of(overload):
    """The int[] whose numbers may stand one by one."""
    positional = [a for a in overload.arguments if not a.keyword_only]
    return positional[-1].name if overload.is_traited("VARARGS") else None


def more(name):
    """size, *sizes"""
    return f"more_{name}" if name.endswith("s") else f"{name}s"


def joined(found):
    """The parameters as one text, with the star before those that go by keyword."""
    parts, starred = [], False
    for each in sorted(found, key=lambda p: p.keyword_only):
        if each.keyword_only and not starred:
            parts.append("*")
        starred |= each.keyword_only or each.rest
        parts.append(str(each))
    return ", ".join(parts)


def merged(overloads, how):
    """Parameters that bind every call that some overload takes.

    A position has the name of the overload with the most; what others call it goes by keyword. What one of
    them does without is None.
    """
    each = [parameters(o, how) for o in overloads]
    lines = [[p for p in line if not p.keyword_only] for line in each]
    longest = max(lines, key=len)
    result = []
    for at, parameter in enumerate(longest):
        same = [line[at] for line in lines if at < len(line) and line[at].name == parameter.name]
        needed = len(same) == len(lines) and all(p.default is None for p in same)
        defaults = {p.default for p in same if p.default is not None}
        default = None if needed else defaults.pop() if len(defaults) == 1 else "None"
        result.append(Parameter(parameter.name, default))
    for one in (p for line in each for p in line):
        if one.name not in {p.name for p in result}:
            default = one.default if one.default is not None or len(each) == 1 else "None"
            result.append(Parameter(one.name, default, True))
    rest = {rest_of(o) for o in overloads} - {None}
    for i, parameter in enumerate(result):
        if parameter.name in rest:
            if any(o.is_traited("FACTORY") for o in overloads):
                parameter.default = "()"
            result.insert(i + 1, Parameter(more(parameter.name), None, False, True))
            break
    return required_first(sorted(result, key=lambda p: p.name == "out"))


def required_first(found):
    """Python wants a default behind a default."""
    optional = False
    for each in found:
        if optional and each.default is None and not each.keyword_only and not each.rest:
            each.default = "None"
        optional |= each.default is not None and not each.keyword_only
    return found


@dataclass
class How:
    """How Python calls an operator."""

    is_method: bool = False
    in_place: bool = False

    @property
    def takes_out(self):
        return not self.is_method and not self.in_place


FUNCTION, METHOD = How(), How(is_method=True)
IN_PLACE, IN_PLACE_METHOD = How(in_place=True), How(is_method=True, in_place=True)


def text_signature(name, overloads, how):
    """What inspect.signature() reads; what has no keyword in Python goes by position."""
    found = joined(merged(overloads, how)).split(", ")
    at = next((i + 1 for i, text in enumerate(found) if text.startswith("from_")), 0)
    parts = [*["$self"] * how.is_method, *found[:at], *["/"] * (how.is_method or at > 0), *found[at:]]
    return f"{name}({', '.join(filter(None, parts))})"


def results_text(results):
    if results in ("Tensor", "result"):
        return "Tensor"
    return {"()": "None", "Tensor[]": "tuple of Tensor"}.get(results, f"({results})")


def signature_lines(name, overloads, how):
    """Every overload in one line each, in the style of PyTorch's documentation."""
    lines = []
    for overload in overloads:
        found, rest = parameters(overload, how), rest_of(overload)
        result = "Tensor" if how.in_place else results_text(overload.results)
        forms = [found]
        if rest and not how.in_place:
            forms.append([Parameter(p.name, None, False, True) if p.name == rest else p for p in found])
        lines += [f"{name}({joined(form)}) -> {result}" for form in forms]
    return list(dict.fromkeys(lines))
