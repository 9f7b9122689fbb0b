"""Writes the table of csrc/README.md anew from csrc/components.toml.

python tools/make_components.py            writes it
python tools/make_components.py --check    says whether that is needed
"""

import pathlib
import sys
import tomllib

CSRC = pathlib.Path(__file__).resolve().parent.parent / "csrc"
HEADINGS = ("component", "sees", "Python", "public headers", "asks of rushlight", "what it is")


def cells(name, component):
    yield name
    yield " ".join(component["sees"])
    yield "yes" if component["python"] else "no"
    yield " ".join(component["headers"])
    yield " ".join(component.get("asks", ()))
    yield component["what"]


def table(components):
    """The lines of the table."""
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(cells(*each) for each in components.items())]
    return ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in rows]


def renewed(readme, components):
    """The text of the page with this table in the place of the one that it has."""
    lines = readme.splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith("|")]
    return "".join([*lines[: at[0]], *(f"{line}\n" for line in table(components)), *lines[at[-1] + 1 :]])


def main():
    page = CSRC / "README.md"
    before = page.read_text()
    after = renewed(before, tomllib.loads((CSRC / "components.toml").read_text()))
    if "--check" in sys.argv[1:]:
        sys.exit(before != after and "csrc/README.md: python tools/make_components.py writes its table")
    page.write_text(after)


if __name__ == "__main__":
    main()
