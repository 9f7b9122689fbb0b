"""One vocabulary of families: what a declaration of <family>.def names stands in files that are called
<family> or <family>_<part>, or common. tools/where.py reads the sources; every rule is shown a text that
breaks it."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = next(p for p in pathlib.Path(__file__).parents if (p / "csrc").is_dir())
SPEC = importlib.util.spec_from_file_location("where", ROOT / "tools" / "where.py")
where = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(where)

DECLARATIONS = where.all_declarations()
DEFINITIONS = where.all_definitions()
FAMILIES = {where.family(each["path"]) for each in DECLARATIONS}


# ---- the rules: each yields what is wrong ----
def misplaced(declarations, definitions):
    for each in declarations:
        own = where.family(each["path"])
        for what in each["names"]:
            if what not in definitions:
                yield f"{each['id']}: {what[0]} {what[1]} is defined nowhere"
            elif where.family(definitions[what][0]) not in (own, "common"):
                yield f"{each['id']} is of the family {own}, but {what[1]} stands in {definitions[what][0]}"


def shared_by_one(declarations, definitions):
    """What common.c holds is named by several families."""
    for what, (path, _) in definitions.items():
        users = {where.family(each["path"]) for each in declarations if what in each["names"]}
        if where.family(path) == "common" and len(users) < 2:
            yield f"{path}: {what[1]} is named by {sorted(users)} alone"


def called_otherwise(declarations, definitions):
    families = {where.family(each["path"]) for each in declarations} | {"common"}
    for (_, name), (path, _) in definitions.items():
        if where.family(path) not in families:
            yield f"{path} defines {name}, and is not called after a family"


RULES = [misplaced, shared_by_one, called_otherwise]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule):
    wrong = list(rule(DECLARATIONS, DEFINITIONS))
    assert not wrong, "\n".join(wrong)


DECLARED = 'OP(relu, "relu(Tensor input) -> Tensor", SHAPE(same) GRAD(relu, "ReluBackward0") CPU(ref_relu))\n'
OTHER = 'OP(neg, "neg(Tensor input) -> Tensor", SHAPE(same) GRAD(neg, "NegBackward0") CPU(ref_neg))\n'
DEFINED = {
    "csrc/ops/shape/common.c": "RL_SHAPE(same) {\n}\n",
    "csrc/kernels/ref/activation.c": "RL_KERNEL(ref_relu) {\n}\n",
    "csrc/kernels/ref/math_more.c": "#define K(n) RL_KERNEL(ref_##n) {}\nK(neg)\n",
    "csrc/derivatives/activation.c": "VJP(relu) {\n}\n",
    "csrc/derivatives/math.c": "VJP(neg) {\n}\n",
}
BREAKS = [
    (
        misplaced,
        {"csrc/kernels/ref/activation.c": "", "csrc/kernels/ref/math.c": "RL_KERNEL(ref_relu) {\n}\n"},
    ),
    (misplaced, {"csrc/kernels/ref/activation.c": "RL_KERNEL(ref_relu6) {\n}\n"}),
    (misplaced, {"csrc/derivatives/activation.c": "VJP(relu6) {\n}\n"}),
    (
        shared_by_one,
        {"csrc/derivatives/activation.c": "", "csrc/derivatives/common.c": "VJP(relu) {\n}\n"},
    ),
    (called_otherwise, {"csrc/kernels/ref/helpers.c": "RL_KERNEL(ref_relu6) {\n}\n"}),
]


def tree(changes):
    declared = [
        *where.declarations("csrc/ops/declarations/activation.def", DECLARED),
        *where.declarations("csrc/ops/declarations/math.def", OTHER),
    ]
    defined = {}
    for path, text in {**DEFINED, **changes}.items():
        for what, line in where.definitions(path, text, lambda _: None).items():
            defined[what] = (path, line)
    return declared, defined


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_lets_good_texts_pass(rule):
    assert not list(rule(*tree({})))


@pytest.mark.parametrize("rule, changes", BREAKS)
def test_rule_can_fail(rule, changes):
    assert list(rule(*tree(changes)))


# ---- what reads them ----
def test_every_operator_is_read():
    from rushlight import _C

    assert {each["id"] for each in DECLARATIONS} == {row["id"] for row in _C._ops_table()}


MADE = """
#define EACH(n, expression)                                                                     \\
    RL_KERNEL(ref_##n) { /* a comment, with ( and                                               \\
                            a second line */                                                    \\
        return expression;                                                                      \\
    }
#define TWO(n) EACH(n##d, 0) EACH(n##d_backward, ({ f(1, 2); }))
TWO(pool1)
"""


def test_definitions_of_macros_are_found():
    found = where.definitions("csrc/kernels/ref/pool.c", MADE + "EACH(last,\n     g(3))\n", lambda _: None)
    assert found == {
        ("kernel", "ref_pool1d"): 8,
        ("kernel", "ref_pool1d_backward"): 8,
        ("kernel", "ref_last"): 9,
    }


def test_places_hold_what_they_are_said_to():
    """The line that is named has the name, or is a call of a macro that makes it."""
    made = 0
    for each in DECLARATIONS:
        for _, name, path, line in where.places(each, DEFINITIONS):
            text = (ROOT / path).read_text().splitlines()[line - 1]
            macro = re.match(r"([A-Z]\w+)\(", text)
            made += bool(macro)
            assert re.search(rf"\b{name}\b", text) or (macro and macro[1] not in where.KINDS), (
                name,
                path,
                line,
            )
    assert made > 100


def test_where_prints_a_whole_operator():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "where.py"), "conv2d"],
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert kinds[0] == "declaration" and kinds[-1] == "samples"
    assert {"shape", "kernel simd", "kernel dnnl", "kernel ref", "formula"} <= set(kinds)
    assert all("/conv" in line for line in done.stdout.splitlines() if not line.startswith("samples"))
    missing = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "where.py"), "conv9d"], capture_output=True, text=True
    )
    assert missing.returncode == 1 and "conv9d" in missing.stderr
