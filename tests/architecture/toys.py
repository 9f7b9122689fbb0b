"""make toys: what docs/architecture.md adds as diffs, in a copy of the tree that is built and tried.

A toy is a heading of the page and the diffs below it. A hunk has no line numbers: its unchanged lines must
stand in the file exactly once.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
COPY = ROOT / "build" / "toys"
HEADING = re.compile(r"^## Adding an? (.+)$")
OPERATOR_TESTS = ["tests/ops/test_ops.py", "tests/ops/test_memory.py", "tests/ops/test_huge.py"]
LAYER = """
import rushlight as torch
from rushlight import nn
x = torch.tensor([-1.0, 0.0, 3.0], requires_grad=True)
layer = nn.SquaredReLU()
assert "SquaredReLU" in nn.__all__ and "squared_relu" in dir(nn.functional)
assert repr(layer) == "SquaredReLU()" and layer(x).tolist() == [0, 0, 9], layer(x)
layer(x).sum().backward()
assert x.grad.tolist() == [0, 0, 6], x.grad
"""


def toys(page):
    """Return ``{heading: [(file, [(before, after)])]}`` of the diffs of a page."""
    found, heading, inside = {}, None, False
    for line in page.splitlines():
        if line.startswith("```"):
            inside = line == "```diff"
        elif not inside:
            heading = m[1] if (m := HEADING.match(line)) else None if line.startswith("## ") else heading
        elif line.startswith("+++ "):
            found.setdefault(heading, []).append((line[4:], []))
        elif line == "@@":
            found[heading][-1][1].append(([], []))
        elif not line.startswith("--- "):
            before, after = found[heading][-1][1][-1]
            for side, signs in ((before, " -"), (after, " +")):
                if line[:1] in signs or not line:
                    side.append(line[1:])
    return found


def apply(root, diffs):
    """Change the files below root; a hunk that fits nowhere, or twice, is an error."""
    for name, hunks in diffs:
        text = (root / name).read_text()
        for before, after in hunks:
            old, new = ("".join(line + "\n" for line in lines) for lines in (before, after))
            if text.count("\n" + old) != 1:
                raise ValueError(f"{name}: {text.count(chr(10) + old)} places for\n{old}")
            text = text.replace("\n" + old, "\n" + new)
        (root / name).write_text(text)


def run(*command):
    env = {**os.environ, "PYTHONPATH": "pysrc:tests"}
    subprocess.run([sys.executable, *command], cwd=COPY, env=env, check=True)


def main():
    shutil.rmtree(COPY, ignore_errors=True)
    out = Path("build"), Path(".git"), Path("dist"), Path("out")
    for path in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if not any(top in Path(path).parents for top in out):
            (COPY / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, COPY / path)
    (COPY / "build").mkdir()
    for shared in ("objects", "generated"):  # what is compiled already
        if (ROOT / "build" / shared).exists():
            shutil.copytree(ROOT / "build" / shared, COPY / "build" / shared)
    found = toys(PAGE.read_text())
    for diffs in found.values():
        apply(COPY, diffs)
    run("setup.py", "-q", "build_ext", "--inplace")
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "cbrt", *OPERATOR_TESTS)
    run("-c", LAYER)
    print(f"built and tried: {', '.join(found)}")


if __name__ == "__main__":
    main()
