"""What refuses a call is marked as a chooser, and few of their branches are beyond the tests."""

import re
from pathlib import Path

import pytest

import choosers

ROOT = Path(__file__).parents[2]
SOURCES = {p: p.read_text() for p in choosers.c_files()}
MOST = 20  # RL_UNREACHED in all
FUNCTION = re.compile(r"^(?!RL_CHOOSER)([a-zA-Z][^;{}#\n]*(?:\n[^;{}#\n]*)?\)) \{\n(.*?)^\}", re.M | re.S)
CHOICE = re.compile(r"\bif\b|\bswitch\b|&&|\|\||\?")


def unmarked(text):
    """Functions that answer RL_UNSUPPORTED for some calls without the word in front."""
    for found in FUNCTION.finditer(text):
        body = re.sub(r"/\*.*?\*/", "", found[2], flags=re.S)
        if (
            "RL_UNSUPPORTED" in body
            and CHOICE.search(body)
            and not text[: found.start()].endswith("RL_CHOOSER\n")
        ):
            yield found[1].partition("\n")[0]


def test_what_refuses_a_call_is_marked():
    wrong = [f"{path.relative_to(ROOT)}: {head}" for path, text in SOURCES.items() for head in unmarked(text)]
    assert not wrong, "\n".join(["RL_CHOOSER is missing before:", *wrong])


REFUSES = "    if (!k->svc->isa) return RL_UNSUPPORTED;\n    return RL_OK;\n}\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("RL_KERNEL(f) {\n" + REFUSES, 1),
        ("RL_CHOOSER\nRL_KERNEL(f) {\n" + REFUSES, 0),
        ("static rl_status f(rl_call *k,\n                   int n) {\n" + REFUSES, 1),
        ("RL_KERNEL(f) {\n    (void)k;\n    return RL_UNSUPPORTED;\n}\n", 0),
    ],
)
def test_the_rule_sees(text, wrong):
    assert len(list(unmarked(text))) == wrong


def test_few_branches_are_beyond_the_tests():
    said = [reason for text in SOURCES.values() for reason in choosers.UNREACHED.findall(text)]
    assert len(said) <= MOST and all(len(reason.split()) > 2 for reason in said)


def test_a_chooser_is_read_with_its_reasons():
    text = """RL_CHOOSER
static bool suits(int n) {
    if (n > 3) return true;
    RL_UNREACHED("the shape rule refuses it")
    if (n < 0 ||
        n == 1)
        return false;
    return n > 1;
}
"""
    reason = "the shape rule refuses it"
    assert choosers.choosers(text) == [("suits", 2, 9, {5: reason, 6: reason, 7: reason})]
