"""What help() and inspect.signature() say of operators, made while rushlight is built.

setup.py writes a C source of them; python tools/operator_help.py NAME prints those of an operator.
"""

import re
import sys
import textwrap
from dataclasses import dataclass, field

import declarations
import operator_signatures as signatures
import pytorch_pages as pages
from operator_signatures import FUNCTION, IN_PLACE, IN_PLACE_METHOD, METHOD

WIDTH = 76  # help() indents by four
TYPES = {
    "Tensor": "Tensor",
    "Operand": "Tensor or number",
    "Tensor[]": "sequence of Tensor",
    "Tensor?[]": "sequence of Tensor or None",
    "Scalar": "number",
    "Number": "number",
    "int[]": "int or tuple of int",
    "bool[]": "tuple of bool",
    "float[]": "tuple of float",
    "Padding": "int, tuple of int or str",
    "MaybeInt": "int, None or tuple of these",
    "ScalarType": "dtype",
    "Device": "device",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}
ABOUT = {
    "keepdim": "Whether the result keeps the reduced dimensions, with size 1.",
    "dtype": "The dtype of the result.",
    "generator": "Where random numbers come from; `default_generator` when None.",
    "device": "Where the result lies; the default device when None.",
    "requires_grad": "Whether autograd records what is done with the result.",
    "memory_format": "How the result lies in memory.",
    "layout": "`strided` is the only one.",
    "out": "Where the result is written; it is returned.",
    "pin_memory": "Accepted, without effect on the CPU.",
    "reduction": "0: 'none', 1: 'mean', 2: 'sum'.",
    "ceil_mode": "Whether the output size is rounded up, not down.",
    "align_corners": "Whether the corners of input and output lie on each other.",
    "unbiased": "Whether n - 1, not n, is in the denominator.",
    "correction": "What is subtracted from n in the denominator, 1 by default.",
    "rounding_mode": "None, 'trunc' (towards zero) or 'floor' (down).",
    "descending": "Whether the largest come first.",
    "dim": "The dimension, or dimensions; a negative one counts from the end.",
}
OF_WINDOWS = {
    "kernel_size": "The size of the window.",
    "stride": "How far the window moves.",
    "padding": "How much is added on both sides of each dimension.",
    "dilation": "How far apart the elements of the window lie.",
    "groups": "Into how many groups, convolved apart, channels are divided.",
}
FLOATS = "float16, bfloat16, float32, float64"
DTYPES = {
    "FLOATS": FLOATS,
    "WIDE_FLOATS": "float32, float64",
    "INTS": "integers",
    "INTEGRAL": "integers, bool",
    "INDICES": "int32, int64",
    "PICTURES": f"{FLOATS}, uint8",
    "FILTERED": "float32, float64, uint8",
    "FLOATS_OR_BOOL": f"{FLOATS}, bool",
    "NUMBERS": f"{FLOATS}, integers",
    "ALL": f"{FLOATS}, integers, bool",
    "NO_HALVES": "float32, float64, integers, bool",
    "ANY": "every dtype",
}
# operators that refuse, when they see the tensors, what their kernels would take
_REFUSING = {
    "FLOATS": "addcdiv var std var_mean std_mean frexp matrix_exp norm exponential_ cauchy_"
    " linalg_matrix_exp linalg_vector_norm",
    "WIDE_FLOATS": "det slogdet cholesky_inverse cholesky_solve orgqr ormqr binomial"
    " linalg_det linalg_slogdet linalg_eigvals linalg_eigvalsh linalg_svdvals linalg_householder_product",
    "NUMBERS": "argmax argmin neg relu topk",
}
NARROWER = {name: words for words, names in _REFUSING.items() for name in names.split()}
# composites whose results have no gradient
_WITHOUT_GRADIENT = set(
    "detach_copy searchsorted bucketize isin bincount nonzero argwhere one_hot multinomial".split()
)
COMMON = "Different dtypes are promoted to a common one."
# by rule of TYPES: what is said where several tensors are given, and what always
RULES = {
    "same": ("All tensors must have the same one.", ""),
    "same_bias": ("All tensors must have the same one.", ""),
    "promote": (COMMON, ""),
    "number": (COMMON, "bool becomes int64."),
    "sub": (COMMON, ""),
    "addcdiv": (COMMON, ""),
    "float": (COMMON, "Integers and bool become the default dtype, float32."),
    "div": (COMMON, "Integers and bool become the default dtype, float32, unless they are rounded."),
    "clamp": (COMMON, ""),
    "where": ("`input` and `other` are promoted to a common dtype.", ""),
    "list": (COMMON, ""),
    "compare": (COMMON, "The result is bool."),
    "bool": ("", "The result is bool."),
    "bool_or_uint8": ("", "The result is bool, of uint8 it is uint8."),
    "index": ("", "The result is int64."),
    "sum": ("", "Integers and bool become int64 unless `dtype` says otherwise."),
    "factory": ("", "Without `dtype`: the default dtype, float32."),
    "full": ("", "Without `dtype`: that of the fill value."),
    "arange": ("", "Without `dtype`: int64 if all bounds are integers, else the default dtype, float32."),
    "randint": ("", "Without `dtype`: int64."),
    "like": ("", "Without `dtype`: that of `input`."),
}
AUTOCAST = {
    "lower": "in the dtype of the context",
    "float32": "in float32",
    "widest": "in float32 if a tensor is float32, else in the dtype of the context",
    "pad": "in float32",
}

# {name: its example}; they begin with `import rushlight as torch` and `import rushlight.nn.functional as F`
EXAMPLES = {each.name: each.parts["EXAMPLE"][0] for each in declarations.read()[0] if "EXAMPLE" in each.parts}


# ---- words ----
def paragraph(text, indent=""):
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent.replace("*", " "),
        break_long_words=False,
        break_on_hyphens=False,
    )


def section(title, lines):
    return "\n".join([title, "-" * len(title), *lines])


def listed(names):
    """`a`, `b` and `c`"""
    *most, last = [f"`{name}`" for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def type_text(kind):
    """The type of a parameter in words."""
    kind = kind.rstrip("?")
    base, _, length = kind.rstrip("]").partition("[")
    if length and base == "int":
        return "int" if length == "1" else f"int or tuple of {length} int"
    return TYPES.get(kind) or TYPES.get(base, base)


# ---- what tells overloads from each other ----
def in_reading_order(overloads):
    """From the one that is called as the name, which others may stand before to be tried first."""
    at = next((i for i, o in enumerate(overloads) if o.id == o.name), 0)
    return overloads[at:] + overloads[:at]


def condition(overload, first):
    """When a call is one of this overload, not of the first."""
    known = {a.name: a.type for a in first.arguments}
    needed = {a.name for a in first.arguments if a.is_required}
    more = [a.name for a in overload.arguments if a.name not in known]
    must = [a.name for a in overload.arguments if a.is_required and a.name not in needed]
    if more:
        telling = [n for n in must if n not in more] + ([n for n in more if n in must] or more)
        return f"With {listed(telling if len(telling) < 4 else more)}"
    for argument in overload.arguments:
        if known[argument.name] != argument.type:
            kind = type_text(argument.type)
            return f"With `{argument.name}` as {'an' if kind.startswith('int') else 'a'} {kind}"
    return "Without " + listed([name for name in known if name not in {a.name for a in overload.arguments}])


def description(overloads):
    """The help of the first overload, then what others say."""
    first, *others = in_reading_order(overloads)
    summary, _, rest = first.help.partition(". ")
    blocks = [paragraph(summary.rstrip(".") + "."), *([paragraph(rest)] if rest else [])]
    said = {first.help}
    for other in others:
        if other.help not in said and not signatures.is_mirrored(other):
            said.add(other.help)
            text = other.help.removeprefix("... ")
            blocks.append(f"{condition(other, first)}\n{paragraph(text, '    ')}")
    return blocks


# ---- sections ----
def parameter_types(overloads, how):
    """{name: its types in all overloads}"""
    found = {}
    for overload in overloads:
        for at, argument in enumerate(overload.arguments[how.is_method :], how.is_method):
            kinds = found.setdefault(signatures.named(overload, at), [])
            kinds += [k for k in type_text(argument.type).split(" or ") if k not in kinds]
        if overload.has("OUT"):
            several = results_of(overload) not in ("Tensor", "(result)")
            kinds = found.setdefault("out", [])
            kinds += [k for k in ["tuple of Tensor" if several else "Tensor"] if k not in kinds]
    return {name: " or ".join(kinds) for name, kinds in found.items()}


def results_of(overload):
    return signatures.results_text(overload.results)


def parameters_section(overloads, how):
    types, lines = parameter_types(overloads, how), []
    known = ABOUT | OF_WINDOWS if {"kernel_size", "weight"} & set(types) else ABOUT
    for each in signatures.merged(overloads, how):
        if each.rest:
            continue
        optional = {None: "", "None": ", optional"}.get(each.default, f", default {each.default}")
        lines.append(f"{each.name} : {types[each.name]}{optional}")
        about = known.get(each.name, "")
        about = about.replace(", or dimensions", "") if "tuple" not in types[each.name] else about
        lines += [paragraph(about, "    ")] if about else []
    return section("Parameters", lines) if lines else None


def is_named_tuple(overload):
    return overload.kind != "OP" or overload.is_traited("TUPLE")


def returns_section(name, overloads):
    lines = []
    for overload in in_reading_order(overloads):
        several = results_of(overload).startswith("(")
        line = f"{overload.results} : Tensor" if several else results_of(overload)
        if line in lines:
            continue
        lines.append(line)
        if several and is_named_tuple(overload):
            lines.append(f"    A named tuple, `rushlight.return_types.{name}`.")
    return section("Returns", lines) if lines != ["Tensor"] else None


def admitted(first):
    """The set of dtypes that it takes."""
    factorised = "WIDE_FLOATS" if first.is_traited("LAPACK") else first.parts["TYPES"][1]
    return NARROWER.get(first.name, factorised)


def dtypes_note(first):
    rule = first.parts["TYPES"][0]
    several, always = RULES.get(rule, ("", ""))
    tensors = [a for a in first.arguments if a.may_be_tensor]
    common = several if len(tensors) > 1 or any("[" in a.type for a in tensors) else ""
    return " ".join(filter(None, [f"Dtypes: {DTYPES[admitted(first)]}.", common, always]))


def gradient_note(first):
    tensors = [a.name for a in first.arguments if a.may_be_tensor]
    fixed = re.findall(r"\w+", " ".join(first.parts.get("NON_DIFFERENTIABLE", ())))
    free = [name for name in tensors if name not in fixed]
    if not tensors:
        return None
    if "NO_GRAD" in first.parts or first.name in _WITHOUT_GRADIENT:
        return "Not differentiable."
    if "GRAD_NOT_IMPLEMENTED" in first.parts:
        return "Its derivative is not implemented: backward() raises RuntimeError."
    return "Differentiable." if free == tensors else f"Differentiable in {listed(free)}."


def has_in_place_function(first):
    """Arithmetic has none in PyTorch, and few others have."""
    tensors = [a for a in first.arguments if a.type in ("Tensor", "Tensor?", "Operand", "Number")]
    usual = first.kind == "OP" and len(tensors) < 2 and "NO_GRAD" not in first.parts
    return usual or first.has("NN") or first.has("INPLACE_FUNCTION")


def variants_note(name, overloads):
    first = overloads[0]
    found = [f"Tensor.{name}"] if any(o.has("METHOD") for o in overloads) and not name.endswith("_") else []
    if any(o.has("INPLACE") for o in overloads):
        found += [f"Tensor.{name}_"] if any(o.has("METHOD") for o in overloads) else []
        found += [f"{name}_"] if has_in_place_function(first) else []
    return f"Also {listed(found)}." if found else None


def notes(operator, how):
    """What the table knows, a line for each fact."""
    first = in_reading_order(operator.overloads)[0]
    autocast = AUTOCAST.get(first.parts.get("AUTOCAST", [None])[0])
    owner = "the tensor" if how.is_method else f"`{first.arguments[0].name}`"
    return [
        dtypes_note(first) if "TYPES" in first.parts else None,
        f"A view: it shares memory with {owner}." if first.kind == "VIEW" else None,
        gradient_note(first),
        f"Under autocast it computes {autocast}." if autocast else None,
        variants_note(operator.name, operator.overloads) if how is FUNCTION else None,
        f"Alias of `{operator.alias_of}`." if operator.alias_of else None,
        f"Alias: {listed(operator.aliases)}." if operator.aliases else None,
    ]


def example_section(name):
    return section("Examples", [EXAMPLES[name]]) if name in EXAMPLES else None


def reference(page):
    if not page:
        return None
    behind = page.startswith("torch.nn.functional.") and page.rpartition(".")[2] in pages.BEHIND
    return f"{'Called by' if behind else 'Same as'} {page}: {pages.link(page)}"


# ---- whole texts ----
@dataclass
class Operator:
    """A name with its overloads."""

    name: str
    overloads: list
    alias_of: str | None = None
    aliases: list = field(default_factory=list)

    def called(self, *variants):
        return [o for o in self.overloads if any(o.has(v) for v in variants)]


def complete(signature, blocks):
    return "\n\n".join(filter(None, [f"{signature}\n--", *blocks]))


def is_private(operator):
    return operator.name.startswith("_") or not (
        operator.called("FUNCTION", "METHOD") or pages.of_function(operator.name)
    )


def whole(operator, overloads, how, page):
    """The help of a function, or of a method that no function stands for."""
    shown = in_reading_order(overloads)
    blocks = ["\n".join(signatures.signature_lines(operator.name, shown, how)), *description(overloads)]
    if not is_private(operator):
        facts = [paragraph(note, "* ") for note in notes(operator, how) if note]
        blocks += [
            parameters_section(shown, how),
            returns_section(operator.alias_of or operator.name, overloads),
            section("Notes", facts) if facts else None,
            example_section(operator.name),
            reference(page),
        ]
    return complete(signatures.text_signature(operator.name, shown, how), blocks)


def function_help(operator):
    overloads = operator.called("FUNCTION", "NN")
    return whole(operator, overloads, FUNCTION, pages.of_function(operator.name)) if overloads else None


def method_help(operator):
    """A method is told in short where a function says all."""
    overloads, page = operator.called("METHOD"), pages.of_method(operator.name)
    if not overloads or not operator.called("FUNCTION"):
        return whole(operator, overloads, METHOD, page) if overloads else None
    shown = in_reading_order(overloads)
    more = f"Refer to `rushlight.{operator.name}` for parameters and dtypes."
    blocks = ["\n".join(signatures.signature_lines(operator.name, shown, METHOD)), *description(overloads)]
    signature = signatures.text_signature(operator.name, shown, METHOD)
    return complete(signature, [*blocks, more, reference(page)])


def in_place_help(operator, how):
    overloads, name = operator.called("INPLACE"), f"{operator.name}_"
    if not overloads or (how.is_method and not operator.called("METHOD")):
        return None
    shown = in_reading_order(overloads)
    same = "Tensor." if how.is_method else ""
    page = pages.of_method(name) if how.is_method else pages.of_function(name)
    blocks = [
        "\n".join(signatures.signature_lines(name, shown, how)),
        paragraph(
            f"In-place variant of `{same}{operator.name}`: the tensor takes the result, and is returned."
        ),
        description(overloads)[0],
        reference(page),
    ]
    return complete(signatures.text_signature(name, shown, how), blocks)


def texts(operator):
    """The members of rl_help, in its order."""
    return [
        function_help(operator),
        method_help(operator),
        in_place_help(operator, IN_PLACE),
        in_place_help(operator, IN_PLACE_METHOD),
    ]


# ---- all of them ----
def operators():
    """(those of the table, by their first declarations; aliases in their order)."""
    declared, pairs = declarations.read()
    by_name, ids = {}, {}
    for each in declared:
        by_name.setdefault(each.name, Operator(each.name, [])).overloads.append(each)
        ids[each.id] = each.name
    aliases = [Operator(alias, by_name[ids[of]].overloads, ids[of]) for alias, of in pairs]
    for alias in aliases:
        by_name[alias.alias_of].aliases.append(alias.name)
    return list(by_name.values()), aliases


def c_text(text):
    """A literal, line by line."""
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\n    " + "\n    ".join(f'"{line}\\n"' for line in escaped.split("\n"))[: -len('\\n"')] + '"'


def c_source():
    table, aliases = operators()
    lines = [
        "/* Made by tools/operator_help.py from csrc/ops/declarations. */",
        '#include "ops/help.h"',
        "const rl_help rl_operator_help[RL_OP_COUNT] = {",
    ]
    for each in table:
        if any(t for t in texts(each)):
            lines.append(f"[RL_OP_{each.overloads[0].id}] = {{{', '.join(map(c_text, texts(each)))}}},")
    lines += ["};", "const rl_help rl_alias_help[] = {"]
    lines += [f"{{{', '.join(map(c_text, texts(each)))}}}," for each in aliases]
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    for each in (one for some in operators() for one in some if one.name == sys.argv[1]):
        print(*filter(None, texts(each)), sep="\n\n")
