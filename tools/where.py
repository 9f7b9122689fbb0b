"""Where everything of an operator stands, read from the sources alone: make where OP=conv2d

A name is an id of a declaration (conv2d, max_dim) or what Python calls it (max).
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
DECLARATIONS = "csrc/ops/declarations"
# what a definition is written with, and where those stand
KINDS = {"RL_SHAPE": "shape", "RL_KERNEL": "kernel", "CUDA_KERNEL": "kernel", "VJP": "formula"}
DEFINED_IN = ("csrc/ops/shape", "csrc/kernels", "csrc/cuda", "csrc/derivatives")
TIERS = ("simd", "dnnl", "ref", "cuda")
# files and folders of kernels that are called by the field's word, and the family that they are of
CALLED = {
    "arithmetic": "arith",
    "data": "data_movement",
    "copy": "factory",
    "gemv": "gemm",
    "histogram": "sort",
}


def family(path):
    """conv of csrc/kernels/simd/conv/direct.c, csrc/kernels/ref/conv.c and csrc/cuda/conv.cu: a family is a
    file or a folder."""
    path = pathlib.PurePath(path)
    below = {"kernels": 3, "cuda": 2}.get(path.parts[1] if len(path.parts) > 1 else "", len(path.parts))
    folders = path.parts[below:-1]
    name = folders[0] if folders else path.stem
    first = name.partition("_")[0]
    return CALLED.get(name) or CALLED.get(first, first)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def without_comments(text):
    """Of the same length, with its lines and their continuations."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n\\]", " ", m[0]), text, flags=re.S)


def arguments(text, at):
    """The arguments of a call whose parenthesis opens at `at`."""
    depth, found, start = 0, [], at + 1
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if (depth == 1 and text[i] == ",") or depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
        if depth == 0:
            return found
    return []


# ---- declarations ----
def declarations(path, text):
    """Each declaration of a .def file: what it is called, where it stands, what it names."""
    clean = without_comments(text)
    for found in re.finditer(r'^(?:RL_)?(?:OP|VIEW|COMPOS\w+)\((\w+), "(\w+)\(', clean, flags=re.M):
        whole = clean[found.end(1) : found.end(1) + len(clean)].partition("\n\n")[0]
        parts = re.sub(r'"(?:\\.|[^"\\])*"', '""', whole)
        names = [("shape", name) for name in re.findall(r"\bSHAPE\((\w+)\)", parts)]
        names += [("kernel", name) for name in re.findall(rf"\b(?:{'|'.join(TIERS)})_\w+", parts)]
        names += [("formula", name) for name in re.findall(r"\bGRAD\((\w+)", parts)]
        yield {
            "id": found[1],
            "name": found[2],
            "path": path,
            "line": line_of(clean, found.start()),
            "names": names,
        }


# ---- definitions: also those that a macro makes ----
def macros(text):
    """{name: [(parameters, body), ...]}: one for each branch of an #if."""
    found = {}
    for m in re.finditer(r"^[ \t]*#define (\w+)\(([^)]*)\)((?:.*\\\n)*.*)", text, flags=re.M):
        parameters = [p.strip() for p in m[2].split(",")]
        found.setdefault(m[1], []).append((parameters, m[3].replace("\\\n", "\n")))
    return found


def expand(parameters, body, given):
    values = dict(zip(parameters, given, strict=False))
    body = re.sub(r"\b\w+\b", lambda m: values.get(m[0], m[0]), body)
    return re.sub(r"\s*##\s*", "", body)


def makers(known):
    """The macros that come to a definition, by themselves or by way of others."""
    made, before = set(KINDS), None
    while before != made:
        before = set(made)
        made |= {
            name
            for name, ways in known.items()
            if any(re.search(rf"\b(?:{'|'.join(before)})\(", body) for _, body in ways)
        }
    return made - set(KINDS)


def made_by(text, known, making):
    """(kind, name, offset) of every definition in a text."""
    lists = {name for name, row in re.findall(r"\b(\w+)\((\w+)\)", text) if row in making and name in known}
    for found in re.finditer(rf"\b({'|'.join([*KINDS, *sorted(making | lists)])})(?=\()", text):
        given = arguments(text, found.end())
        if found[1] in KINDS:
            yield KINDS[found[1]], given[0], found.start()
            continue
        for parameters, body in known[found[1]]:
            for kind, name, _ in made_by(expand(parameters, body, given), known, making - {found[1]}):
                yield kind, name, found.start()


def with_headers(path, text, read, seen=None):
    """The text of a file and of the headers of its component that it includes, whose macros it may use."""
    seen = {path} if seen is None else seen
    yield text
    for name in re.findall(r'^#include "([\w/]+\.(?:h|cuh|inc))"', text, flags=re.M):
        header = f"csrc/{name}" if "/" in name else path.rpartition("/")[0] + "/" + name
        if header not in seen and (inner := read(header)) is not None:
            seen.add(header)
            yield from with_headers(header, inner, read, seen)


def definitions(path, text, read):
    """{(kind, name): line} of a C file; `read` gives the text of a header."""
    known = {}
    # what they are written with stands in elementwise_compile.h beside them
    lines = path.endswith("_ops.h")
    for each in with_headers(path, '#include "elementwise_compile.h"\n' + text if lines else text, read):
        for name, ways in macros(without_comments(each)).items():
            known.setdefault(name, []).extend(ways)
    clean = without_comments(text)
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", lambda m: re.sub(r"[^\n]", " ", m[0]), clean, flags=re.M)
    found = {}
    for kind, name, at in made_by(code, known, makers(known)):
        found.setdefault((kind, name), line_of(code, at))
    return found


# ---- the tree ----
def read(path):
    file = ROOT / path
    return file.read_text() if file.exists() else None


def relative(path):
    return path.relative_to(ROOT).as_posix()


def all_declarations():
    files = (relative(p) for p in sorted((ROOT / DECLARATIONS).glob("*.def")) if p.stem != "all")
    return [each for path in files for each in declarations(path, read(path))]


def all_definitions():
    """{(kind, name): (path, line)}."""
    found = {}
    for folder in DEFINED_IN:
        for path in map(relative, sorted((ROOT / folder).rglob("*"))):
            if not path.endswith((".c", ".cu", "_ops.h")):
                continue
            for what, line in definitions(path, read(path), read).items():
                found[what] = (path, line)
    return found


def samples(each):
    """Lines of the samples that name a declaration."""
    file = ROOT / "tests" / "op_samples" / f"{family(each['path'])}.py"
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else (), 1):
        if re.search(rf"""["']{each["id"]}["']""", line):
            yield relative(file), number


def places(each, defined):
    """(what, name, path, line) of a declaration, in the order in which a call meets them."""
    yield "declaration", each["id"], each["path"], each["line"]
    for kind, name in each["names"]:
        what = f"kernel {name.partition('_')[0]}" if kind == "kernel" else kind
        yield what, name, *defined.get((kind, name), ("?", 0))
    for path, line in samples(each):
        yield "samples", each["id"], path, line


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("operator")
    wanted = parser.parse_args().operator
    found = [each for each in all_declarations() if wanted in (each["id"], each["name"])]
    if not found:
        sys.exit(f"no operator is called {wanted!r}")
    defined = all_definitions()
    for i, each in enumerate(found):
        print(end="\n" if i else "")
        for what, name, path, line in places(each, defined):
            print(f"{what:<13}{name:<28}{path}:{line}")


if __name__ == "__main__":
    main()
