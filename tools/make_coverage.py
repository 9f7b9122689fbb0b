"""Writes docs/coverage.md: what of PyTorch's names binds here, and why the rest does not.

python tools/make_coverage.py docs/coverage.md            (make coverage)
python tools/make_coverage.py --check docs/coverage.md    prints what the page claims though it does not bind

PyTorch's names stand in tests/data/pytorch_names.txt (tools/pytorch_table.py), the reasons in
tools/coverage_reasons.py.
"""

import argparse
import pathlib
import re
import sys
import textwrap
import types
import warnings

from binding import Prober, find, read
from coverage_reasons import IGNORED, LACKING, MISSING

ROOT = pathlib.Path(__file__).parents[1]
TABLE = ROOT / "tests/data/pytorch_names.txt"
NO_REASON = "to be written"
HEAD = """# Coverage

What rushlight has of PyTorch 2.13's names, written by `make coverage` from `tests/data/pytorch_names.txt`.

* *Implemented*: every overload binds with every argument, by position and by keyword; `dim` and `keepdim`
  also as `axis` and `keepdims` where PyTorch has them. `tests/package/test_coverage.py` makes those calls.
  What they compute is compared with PyTorch's answers by `tests/parity`.
* *Partial*: what is said does not bind.
* *Missing*: with the reason. Overloads by names of dimensions count nowhere.
"""


def space_of(name):
    return name.rpartition(".")[0]


def last(name):
    return name.rpartition(".")[2]


def short(parameters):
    """An overload by what it needs."""
    needed = ", ".join(str(p) for p in parameters if not p.default)
    return f"({needed}{', ' * bool(needed)}...)" if any(p.default for p in parameters) else f"({needed})"


def lacking(prober, name, kind, overloads):
    """The overloads and arguments of a name that do not bind; None: there is no such name."""
    try:
        value = find(prober.library, name)
    except AttributeError:
        return None
    if isinstance(value, types.ModuleType) and all(word.startswith("_") for word in dir(value)):
        return None  # it can be imported, and says what it lacks
    if kind not in ("function", "method", "class"):
        return []
    method = space_of(name) == "torch.Tensor"
    failed = []
    for parameters in overloads:
        what = prober.lacking(value, parameters, method)
        failed += [short(parameters)] if what == [""] else what
    return list(dict.fromkeys(failed))


def reason(table, text):
    """The first reason whose pattern is the whole text."""
    fitting = (why for why, patterns in table.items() for p in patterns if re.fullmatch(p, text))
    return next(fitting, NO_REASON)


def survey(library, names):
    """{namespace: {name: what is lacking, or None}} of names as read() gives them."""
    prober, spaces = Prober(library), {}
    for name, (kind, overloads) in names.items():
        spaces.setdefault(space_of(name), {})[last(name)] = lacking(prober, name, kind, overloads)
    return spaces


def code(words):
    return ", ".join(f"`{word}`" for word in words)


def paragraph(text, indent=""):
    options = {"subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, 120, **options)


def by_reason(missing, space):
    groups = {}
    for name in missing:
        groups.setdefault(reason(MISSING, f"{space}.{name}".removeprefix("torch.")), []).append(name)
    order = [NO_REASON, *MISSING]
    return sorted(groups.items(), key=lambda group: order.index(group[0]))


def space_lines(space, names):
    done = [name for name, failed in names.items() if failed == []]
    partial = {name: failed for name, failed in names.items() if failed}
    missing = [name for name, failed in names.items() if failed is None]
    lines = ["", f"## {space}"]
    if done:
        lines += ["", "### Implemented", "", *paragraph(code(done))]
    if partial:
        rows = {}
        for name, failed in partial.items():
            for what in failed:
                why = reason(LACKING, f"{space}.{name} {what}".removeprefix("torch."))
                rows.setdefault((name, why), []).append(what)
        alike = {}
        for (name, why), failed in rows.items():
            alike.setdefault((tuple(failed), why), []).append(name)
        lines += ["", "### Partial", "", "| names | what does not bind | why |", "|---|---|---|"]
        for (failed, why), these in alike.items():
            what = code(failed).replace("|", "\\|")
            lines.append(f"| {code(these)} | {what} | {why} |")
    if missing:
        lines += ["", "### Missing", ""]
        for why, these in by_reason(missing, space):
            lines += paragraph(f"* {why}: {code(these)}", "  ")
    return lines


def page(spaces):
    lines = [HEAD, "| namespace | names | implemented | partial | missing |", "|---|---|---|---|---|"]
    for space, names in spaces.items():
        absent = sum(failed is None for failed in names.values())
        whole = sum(failed == [] for failed in names.values())
        lines.append(f"| `{space}` | {len(names)} | {whole} | {len(names) - whole - absent} | {absent} |")
    lines += ["", "## Accepted and ignored", "", "| argument | of | why |", "|---|---|---|"]
    lines += [f"| `{argument}` | {where} | {why} |" for argument, where, why in IGNORED]
    for space, names in spaces.items():
        lines += space_lines(space, names)
    return "\n".join(lines) + "\n"


def claims(text):
    """The names that stand under "Implemented"."""
    found, space, heading = [], None, None
    for line in text.splitlines():
        if line.startswith("### "):
            heading = line[4:]
        elif line.startswith("## "):
            space, heading = line[3:], None
        elif heading == "Implemented":
            found += [f"{space}.{name}" for name in re.findall(r"`(\w+)`", line)]
    return found


def false_claims(library, names, text):
    """What a page claims as implemented though it does not bind, or though PyTorch has no such name."""
    prober, false = Prober(library), []
    for name in claims(text):
        if name not in names:
            false.append(f"{name}: not in the table")
            continue
        failed = lacking(prober, name, *names[name])
        if failed != []:
            false.append(f"{name}: {'missing' if failed is None else ', '.join(failed)}")
    return false


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--table", default=TABLE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    import rushlight

    warnings.simplefilter("ignore")
    names = read(options.table)
    if options.check:
        false = false_claims(rushlight, names, pathlib.Path(options.page).read_text())
        print("\n".join(false), end="\n" if false else "")
        return bool(false)
    pathlib.Path(options.page).write_text(page(survey(rushlight, names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
