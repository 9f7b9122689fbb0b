"""Pages name files that are there: in the repository, or in one of the folders that a page speaks of."""

import re

import pytest

from .test_components import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("csrc/*.md")])
FOLDERS = ("", "csrc", "csrc/kernels", "csrc/cuda", "pysrc", "pysrc/rushlight")
NAME = re.compile(r"(?<![\w/.<*~-])(?:[\w-]+/)+[\w-]+\.(?:c|h|inc|cuh?|def|py|md|txt|toml)\b(?!\w)")


def missing(text):
    """Names of files that are nowhere. x.c and test_x.py stand for any."""
    for name in NAME.findall(text):
        if not re.search(r"(?:/|_)x\.\w+$", name) and not any((ROOT / at / name).exists() for at in FOLDERS):
            yield name


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_files_that_a_page_names_exist(page):
    found = set(missing(page.read_text()))
    assert not found


def test_missing_files_are_found():
    assert list(missing("see `csrc/core/nothing.c`, `core/view.c` and `csrc/cuda/x.cu`")) == [
        "csrc/core/nothing.c"
    ]
