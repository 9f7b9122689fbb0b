"""inspect.signature() admits what can be called, and help() says what the table knows of an operator."""

import doctest
import inspect
import itertools
import re

import numpy as np
import pytest

import op_samples as samples
import operator_help
import pytorch_pages
import rushlight as torch
import rushlight.nn.functional as F
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
relu_(input)
where(condition, input=None, other=None, *, out=None)
Tensor.max(self, /, dim=None, keepdim=False, *, other=None)
Tensor.add_(self, /, other, *, alpha=1)
Tensor.view(self, /, size=None, *sizes, dtype=None)
Tensor.random_(self, from_=None, /, to=None, *, generator=None)
gelu_(input, *, approximate='none')
"""


@pytest.mark.parametrize("text", SIGNATURES.split("\n")[1:-1])
def test_a_signature_is(text):
    name, _, inside = text.partition("(")
    assert str(inspect.signature(public(name))) == f"({inside}"


# ---- what help() says ----
WORDS = {"integers": samples.WHOLE[1:], "every dtype": samples.DTYPES}
# {id: declaration} of the overloads that help() takes its facts from
TOLD = {
    first.id: first
    for operator in OPERATORS.values()
    for first in operator_help.in_reading_order(operator.overloads)[:1]
    if first.id in samples.OPERATORS and not operator_help.is_private(operator)
}


def runs(name, dtype):
    """Does a sample run in this dtype?"""
    function = samples.function(_C, samples.OPERATORS[name])
    for sample in samples.of(name):
        args, kwargs = sample.build(_C, dtype)
        try:
            function(*args, **kwargs, **({"dtype": getattr(_C, dtype)} if name in samples.FACTORIES else {}))
            return dtype not in sample.without
        except (RuntimeError, ValueError):
            pass
    return False


@pytest.mark.parametrize("name", [name for name in TOLD if "TYPES" in TOLD[name].parts])
def test_help_tells_the_dtypes(name):
    said = re.match(r"Dtypes: (.*?)\.", operator_help.dtypes_note(TOLD[name]))[1].split(", ")
    said = {dtype for word in said for dtype in WORDS.get(word, [word])}
    works = {dtype for dtype in samples.DTYPES if runs(name, dtype)}
    assert said in (works, works - {"bool"})  # bool beside integers is one


def wanting(value):
    """Floating tensors that require grad, and are no leaves, which must not be written into."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(wanting, value))
    floating = isinstance(value, _C.Tensor) and value.is_floating_point()
    return value.detach().requires_grad_().clone() if floating else value


def gives_gradients(name):
    """Does a result of some sample have a history?"""
    function = samples.function(_C, samples.OPERATORS[name])
    for sample, dtype in itertools.product(samples.of(name), ("float32", "float64")):
        args, kwargs = sample.build(_C, dtype)
        try:
            results = samples.flat_results(function(*map(wanting, args), **kwargs))
        except RuntimeError:
            continue
        if any(isinstance(r, _C.Tensor) and r.requires_grad for r in results):
            return True
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in TOLD if operator_help.gradient_note(TOLD[name])])
def test_help_tells_whether_there_is_a_gradient(name):
    note = operator_help.gradient_note(TOLD[name])
    assert (note != "Not differentiable.") == gives_gradients(name), note


def public(name):
    """What `Tensor.add_`, `return_types.max` or `relu` is."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found or getattr(_C._nn, name, None)


def test_help_names_what_is_there():
    for name, operator in OPERATORS.items():
        if operator_help.is_private(operator):
            continue
        text = "\n".join(filter(None, operator_help.texts(operator)))
        named = re.findall(r"`rushlight\.([\w.]+)`", text)
        for line in re.findall(r"^\* (?:Also|Alias).*?\.$", text, flags=re.M | re.S):
            named += re.findall(r"`([\w.]+)`", line)
        assert all(map(public, named)), (name, named)


def test_help_begins_with_every_overload():
    assert torch.max.__doc__.startswith(
        "max(input, *, out=None) -> Tensor\n"
        "max(input, dim, keepdim=False, *, out=None) -> (values, indices)\n"
        "max(input, other, *, out=None) -> Tensor\n\n"
    )
    assert torch.Tensor.view.__doc__.startswith(
        "view(size) -> Tensor\nview(*size) -> Tensor\nview(dtype) -> Tensor\n\n"
    )
    assert torch.relu_.__doc__.startswith("relu_(input) -> Tensor\n\nIn-place variant of `relu`")
    assert "\n\nWith `dim`\n    Return the maximum along the dimension" in torch.max.__doc__
    assert "\n\nWith `dim` and `unbiased`\n" in torch.var.__doc__
    for operator in OPERATORS.values():
        for function in functions_of(operator.name, operator.overloads):
            if not inspect.isfunction(inspect.unwrap(function)):  # some methods stand in Python
                assert function.__doc__.startswith(f"{function.__name__}("), function


def test_help_says_what_the_table_knows():
    for text in (
        "Returns",
        "rushlight.return_types.max",
        "docs/2.13/generated/torch.max.html",
        "`Tensor.max`",
    ):
        assert text in torch.max.__doc__
    assert "* Under autocast it computes in the dtype of the context." in torch.conv2d.__doc__
    assert "* Not differentiable." in torch.argmax.__doc__ and "* Differentiable." in torch.exp.__doc__
    assert "* A view: it shares memory with `input`." in torch.transpose.__doc__
    assert "* Alias of `acos`." in torch.arccos.__doc__ and "* Alias: `arccos`." in torch.acos.__doc__
    assert torch.max.__doc__.count("\n\n\n") == 0


def examples():
    """(name, docstring) of what C made, public, with an example."""
    for home in (torch, torch.Tensor, _C._nn):
        for name, member in vars(home).items():
            if type(member) in (type(len), DESCRIPTOR) and name[0] != "_" and ">>>" in member.__doc__:
                yield f"{home.__name__}.{name}", member.__doc__


@pytest.mark.parametrize("name, text", list(examples()), ids=lambda value: value.partition("\n")[0])
def test_examples_run(name, text):
    names = {"torch": torch, "F": F, "np": np}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert test.examples and not doctest.DocTestRunner(verbose=False).run(test).failed


def test_every_example_is_shown():
    assert set(operator_help.EXAMPLES) <= set(OPERATORS)
    shown = "".join(text for _, text in examples())
    assert all(example in shown for example in operator_help.EXAMPLES.values())


def test_what_is_the_same_is():
    """As a function of nn.functional; what those written in Python call is not."""
    for name in pytorch_pages.FUNCTIONAL:
        assert getattr(F, name) in (getattr(_C, name, None), getattr(_C._nn, name, None)), name
    for name in pytorch_pages.BEHIND:
        assert inspect.isfunction(getattr(F, name)), name
