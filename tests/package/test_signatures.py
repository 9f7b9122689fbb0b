"""inspect.signature() admits what can be called, and help() says what the table knows of an operator."""

import inspect

import pytest

import operator_help
import rushlight as torch
import samples
from rushlight import _C

DESCRIPTOR = type(str.join)
OPERATORS = {op.name: op for some in operator_help.operators() for op in some}
STAR, KEYWORDS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def functions_of(name, overloads):
    """What Python has of these overloads: functions and methods, in place or not."""

    def any_has(*variants):
        return any(o.has(*variants) for o in overloads)

    found = [(any_has("FUNCTION"), _C, name), (any_has("NN"), _C._nn, name)]
    found += [(any_has("METHOD"), _C.Tensor, name), (any_has("METHOD", "INPLACE"), _C.Tensor, f"{name}_")]
    found += [(any_has("INPLACE"), home, f"{name}_") for home in (_C, _C._nn)]
    return [getattr(home, each) for wanted, home, each in found if wanted and hasattr(home, each)]


def takes_out(function, name):
    return type(function) is not DESCRIPTOR and function.__name__ == name


# ---- signatures of operators ----
@pytest.mark.parametrize("name", samples.OPERATORS)
def test_signatures_bind_every_sample(name):
    entry = samples.OPERATORS[name]
    (overload,) = [o for o in OPERATORS[entry["name"]].overloads if o.id == name]
    dtype = next(d for d in ("float32", "int64", "bool") if d in samples.admitted(entry))
    for function in functions_of(entry["name"], [overload]):
        signature = inspect.signature(function)
        for sample in samples.of(name):
            args, kwargs = sample.build(_C, dtype)
            if not takes_out(function, entry["name"]):
                kwargs.pop("out", None)
            signature.bind(*args, **kwargs)


def forms(overload):
    """(args, kwargs) of all by position, all by keyword, and what must be given; `from` has no keyword."""
    nameless = [a.name for a in overload.arguments].index("from") + 1 if has_from(overload) else 0
    nameless = nameless or overload.arguments[0].name == "self"
    for whole, positional in ((True, True), (True, False), (False, True)):
        args, kwargs = [], {}
        for i, a in enumerate(overload.arguments):
            if not whole and not a.is_required:
                continue
            if i < nameless or (positional and not a.keyword_only):
                args.append(None)
            else:
                kwargs[a.name] = None
        yield args, kwargs


def has_from(overload):
    return any(a.name == "from" for a in overload.arguments)


@pytest.mark.parametrize("name", OPERATORS)
def test_signatures_bind_every_form_of_every_overload(name):
    for overload in OPERATORS[name].overloads:
        for function in functions_of(name, [overload]):
            signature = inspect.signature(function)
            for args, kwargs in forms(overload):
                if function.__qualname__.startswith("Tensor.") and overload.arguments[0].name in kwargs:
                    args = [kwargs.pop(overload.arguments[0].name), *args]
                if overload.has("OUT") and takes_out(function, name):
                    kwargs["out"] = None
                signature.bind(*args, **kwargs)


def test_signatures_take_no_more_than_overloads_do():
    for name, operator in OPERATORS.items():
        known = {written for o in operator.overloads for written in (a.name for a in o.arguments)}
        known |= {"self", "out", "input", "from_"}
        stars = any(o.is_traited("VARARGS") for o in operator.overloads)
        for function in functions_of(name, operator.overloads):
            for each in inspect.signature(function).parameters.values():
                assert each.kind is not KEYWORDS, name
                assert stars if each.kind is STAR else each.name in known, name


SIGNATURES = """
relu(input)
add(input, other, *, alpha=1, out=None)
max(input, dim=None, keepdim=False, *, other=None, out=None)
sum(input, dim=None, keepdim=False, *, dtype=None, out=None)
amax(input, dim=(), keepdim=False, *, out=None)
"""


@pytest.mark.parametrize("text", SIGNATURES.split("\n")[1:-1])
def test_a_signature_is(text):
    name, _, inside = text.partition("(")
    assert str(inspect.signature(getattr(torch, name))) == f"({inside}"
