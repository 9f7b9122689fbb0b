"""Reads csrc/ops/declarations: what each declaration says, in the order of the table, without a compiler."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "csrc" / "ops" / "declarations"
KINDS = ("OP", "VIEW", "COMPOSITE")
TOKEN = re.compile(
    r'(?P<blank>\s+|/\*.*?\*/|\#\w+ [^"\n]*)|(?P<text>"(?:\\.|[^"\\])*")|(?P<word>\w+)|.', re.S
)
ARGUMENT = re.compile(r"(?P<type>\S+) (?P<name>\w+)(?:=(?P<default>.+))?$")


@dataclass
class Argument:
    name: str
    type: str  # as declared, without what it shares: "int[2]?"
    default: str | None
    keyword_only: bool

    @property
    def is_required(self):
        return self.default is None

    @property
    def may_be_tensor(self):
        return self.type.startswith(("Tensor", "Operand"))


@dataclass
class Declaration:
    kind: str
    id: str
    name: str
    arguments: list
    results: str  # "Tensor", "Tensor[]", "()", or the names of several: "values, indices"
    help: str
    parts: dict = field(default_factory=dict)  # {"TYPES": ["promote", "FLOATS"]}

    def has(self, *variants):
        return all(each in self.parts.get("VARIANTS", ()) for each in variants)

    def is_traited(self, trait):
        return trait in self.parts.get("TRAITS", ())


# ---- the text of a file ----
def tokens(text):
    """Words, texts and marks."""
    for found in TOKEN.finditer(text):
        if found.lastgroup != "blank":
            yield found[0]


def call(stream):
    """The arguments of a call behind its opening parenthesis: texts joined, calls as (name, arguments)."""
    arguments, now = [], []
    for token in stream:
        if token in (",", ")"):
            if now:
                arguments.append(now)
            if token == ")":
                return arguments
            now = []
        elif token == "(":
            now[-1] = (now[-1], call(stream))
        elif token[0] == '"' and now and isinstance(now[-1], str) and now[-1][0] == '"':
            now[-1] = f"{now[-1][:-1]}{token[1:]}"
        else:
            now.append(token)
    return arguments


def calls(text):
    """What stands in the file: (name, arguments) of each declaration, in order."""
    stream, name = tokens(text), None
    for token in stream:
        if token == "(":
            yield name, call(stream)
        name = token


def text_of(items):
    return ast.literal_eval(items[0])


def part(item):
    name, arguments = item if isinstance(item, tuple) else (item, [])
    return name, [text_of(a) if a[0][0] == '"' else " ".join(map(str, a)) for a in arguments]


# ---- what a schema says ----
def split_arguments(text):
    """Commas inside of brackets and quotes do not part arguments."""
    return [each.strip() for each in re.findall(r"(?:[^,\[\]']|\[[^\]]*\]|'[^']*')+", text)]


def arguments_of(text):
    found, keyword_only = [], False
    for each in split_arguments(text):
        if each == "*":
            keyword_only = True
            continue
        said = ARGUMENT.match(each)
        kind = re.sub(r"\([a-z]!?\)", "", said["type"])
        found.append(Argument(said["name"], kind, said["default"], keyword_only))
    return found


def results_of(text):
    """A result whose type ends with ? is made for the derivative alone: the caller does not get it."""
    if text.startswith("(") and text != "()":
        return ", ".join(re.findall(r"Tensor (\w+)", text))
    return re.sub(r"\([a-z]!?\)", "", text)


def declaration(kind, arguments):
    (identifier,), schema, help_text, parts = arguments[0], text_of(arguments[1]), arguments[2], arguments[3:]
    head, results = schema.rsplit(" -> ", 1)
    name, inside = head[:-1].split("(", 1)
    said = dict(part(item) for items in parts for item in items)
    return Declaration(
        kind, identifier, name, arguments_of(inside), results_of(results), text_of(help_text), said
    )


def read():
    """(every declaration in the order of the table, [(alias, id of what it stands for)])."""
    files = re.findall(r'#include "(\w+\.def)"', (FOLDER / "all.def").read_text())
    declared, aliases = [], []
    for file in files:
        for name, arguments in calls((FOLDER / file).read_text()):
            if name == "ALIAS":
                aliases.append(tuple(items[0] for items in arguments))
            elif name in KINDS:
                declared.append(declaration(name, arguments))
    return declared, aliases
