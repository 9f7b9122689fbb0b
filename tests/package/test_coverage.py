"""docs/coverage.md says what binds: it is up to date, and a false claim is found.

The calls are made in another process, since functions that ask no mode are run: they set numbers of threads,
seeds and more.
"""

import pathlib
import subprocess
import sys

import pytest

import make_coverage
from binding import parse, read, written

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"


def run(*arguments):
    command = [sys.executable, str(ROOT / "tools" / "make_coverage.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_page_is_up_to_date(tmp_path):
    made = run(tmp_path / "page.md")
    assert made.returncode == 0, made.stderr
    assert PAGE.read_text() == (tmp_path / "page.md").read_text(), "run `make coverage`"


def test_whatever_is_missing_has_a_reason():
    assert make_coverage.NO_REASON not in PAGE.read_text()


def test_every_claim_binds():
    assert make_coverage.claims(PAGE.read_text())
    checked = run("--check", PAGE)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


def claim(*names):
    return "## torch\n\n### Implemented\n\n" + ", ".join(f"`{name}`" for name in names) + "\n"


@pytest.mark.parametrize(
    "line, said",
    [
        ("torch.no_such_name\tfunction\t(input: Tensor)", "missing"),
        ("torch.no_such_number\tconstant", "missing"),
        ("torch.relu\tfunction\t(input: Tensor, slope: float = 0.0)", "slope=, slope by position"),
        ("torch.relu\tfunction\t(input: Tensor, slope: float)", "(input: Tensor, slope: float)"),
        ("torch.relu\tfunction\t(tensor: Tensor)", "tensor="),
        ("torch.relu\tfunction\t(input: int)", "(input: int)"),
        ("torch.relu\tfunction\t(input: Tensor|str)", "input: str"),
        ("torch.sum\tfunction\t(input: Tensor, dim/axes: int)", "axes="),
        ("torch.sum\tfunction\t(input: Tensor, dim/axis: int, dtype: dtype? = None)", "dtype by position"),
        ("torch.vander\tfunction\t(x: Tensor, length: int? = None)", "length="),
        ("torch.get_num_threads\tfunction\t(device: int)", "(device: int)"),
    ],
)
def test_a_false_claim_is_found(tmp_path, line, said):
    (tmp_path / "names.txt").write_text(f"torch.abs\tfunction\t(input: Tensor)\n{line}\n")
    (tmp_path / "page.md").write_text(claim("abs", line.split("\t")[0].removeprefix("torch.")))
    checked = run("--check", tmp_path / "page.md", "--table", tmp_path / "names.txt")
    assert checked.returncode == 1, checked.stderr
    name = line.split("\t")[0]
    assert checked.stdout == f"{name}: {said}\n"


def test_a_claim_of_a_name_that_pytorch_lacks_is_found(tmp_path):
    (tmp_path / "page.md").write_text(claim("abs", "is_rushlight"))
    checked = run("--check", tmp_path / "page.md")
    assert checked.stdout == "torch.is_rushlight: not in the table\n"


def test_table_is_read_as_it_is_written():
    for line in make_coverage.TABLE.read_text().splitlines():
        text = line.split("\t")[2:]
        assert not text or written(parse(text[0])) == text[0]
    names = read(make_coverage.TABLE)
    assert list(names) == list(dict.fromkeys(names)) and len(names) > 1900
