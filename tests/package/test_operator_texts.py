"""The help texts of operators: what a search for the field's noun finds, one short sentence first."""

import pathlib
import re
import types
from collections import defaultdict

import pytest

from rushlight import _C

ALIASES = pathlib.Path(__file__).parents[2] / "csrc" / "ops" / "declarations" / "aliases.def"
TABLE = {entry["id"]: entry for entry in _C._ops_table()}
VERBS = """
    Add Apply Broadcast Clamp Compare Compute Concatenate Contract Convert Copy Count Create Decompose
    Divide Draw Encode Estimate Evaluate Fill Find Flatten Fold Gather Generate Index Insert Integrate
    Interpolate Locate Look Mark Multiply Negate Pack Pad Raise Rearrange Reduce Remove Repeat Replace
    Reshape Resize Return Reverse Roll Rotate Round Run Sample Scale Scatter Select Shift Shuffle Solve
    Sort Split Stack Subtract Sum Take Test Tile Transpose Unbind Undo Unflatten Unfold Unpack Update
    Write
""".split()
SHORTEST, LONGEST = 25, 270  # characters of a text
FIRST = 76  # of its first sentence: one line of help()
VAGUE = re.compile(r"Element-wise|[Ll]argest element of each window|^\W|\bOf a number\b|\s\s|\?$")
NOUNS = {  # what somebody searches for
    "max_pool2d": "2-D max pooling",
    "conv_transpose1d": "transposed convolution",
    "batch_norm": "batch normalization",
    "relu": "rectified linear unit",
    "linalg_solve": "linear system",
    "max": "maximum",
    "std": "standard deviation",
    "binary_cross_entropy": "cross entropy",
    "upsample_bilinear2d": "bilinear interpolation",
    "embedding": "embeddings",
    "lstm": "long short-term memory",
    "randn": "standard normal distribution",
    "scaled_dot_product_attention": "attention",
    "linalg_svd": "singular value decomposition",
}
PRIVATE = re.compile(r"^_|_(backward|along|input|weight|grid)$|^conv_bias$")  # and gradients


def first_sentence(text):
    return text.partition(". ")[0].rstrip(".") + "."


def wrong(entry):
    """What is wrong with the text of an operator; nothing, of a good one."""
    text = entry["doc"]
    faults = {
        "verb": text.split(" ")[0] not in VERBS,
        "full stop": not text.endswith("."),
        "length": not SHORTEST <= len(text) <= LONGEST,
        "first sentence": not PRIVATE.search(entry["name"]) and len(first_sentence(text)) > FIRST,
        "vague": VAGUE.search(text),
        "code": text.count("`") % 2 or not text.isascii() or not text.isprintable(),
    }
    return [fault for fault, found in faults.items() if found]


def test_texts_are_sentences_that_begin_with_a_verb():
    assert {id: wrong(entry) for id, entry in TABLE.items() if wrong(entry)} == {}


def test_no_text_stands_twice():
    ids = defaultdict(list)
    for entry in TABLE.values():
        ids[entry["doc"]].append(entry["id"])
    assert [same for same in ids.values() if len(same) > 1] == []


@pytest.mark.parametrize("id", NOUNS)
def test_first_sentence_has_the_noun(id):
    assert NOUNS[id] in first_sentence(TABLE[id]["doc"])


def test_texts_name_arguments_that_exist():
    """`name` in a text is an argument of the operator or of an overload, or a result."""
    schemas = defaultdict(str)
    for entry in TABLE.values():
        schemas[entry["name"]] += entry["schema"]
    for entry in TABLE.values():
        for name in re.findall(r"`(\w+)`", entry["doc"]):
            assert re.search(rf"\b{name}\b", schemas[entry["name"]]), (entry["id"], name)


@pytest.mark.parametrize(
    "text, fault",
    [
        ("Element-wise.", "vague"),
        ("Largest element of each window of images (N, C, H, W).", "verb"),
        ("Compute it.", "length"),
        ("Compute the maximum of two tensors", "full stop"),
        ("Compute the maximum of `input, element by element.", "code"),
        (f"Compute the {'very ' * 15}maximum. Of all.", "first sentence"),
    ],
)
def test_a_bad_text_is_found(text, fault):
    assert fault in wrong({"name": "max", "doc": text})


def test_what_c_gives_beside_operators_is_told_in_sentences():
    """Functions, and methods and attributes of Tensor."""
    aliases = re.findall(r"^ALIAS\((\w+),", ALIASES.read_text(), re.M)
    named = [*aliases, *(entry["name"] for entry in TABLE.values())]
    operators = {name + end for name in named for end in ("", "_")}
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, types.GetSetDescriptorType)
    short = {}
    for home in (_C, _C.Tensor):
        for name, member in vars(home).items():
            if isinstance(member, kinds) and name[0] != "_" and name not in operators:
                line = (member.__doc__ or "").partition("\n")[0]
                if len(line) < SHORTEST or not line.endswith("."):
                    short[name] = line
    assert short == {}
