"""What docs/architecture.md says an addition takes: its diffs fit the tree, and touch no more files."""

import shutil

import pytest

from .test_components import ROOT
from .toys import PAGE, apply, toys

FOUND = toys(PAGE.read_text())
FILES = {"operator": 4, "layer": 3}


@pytest.mark.parametrize("toy", FILES)
def test_a_toy_fits_and_touches_few_files(toy, tmp_path):
    diffs = FOUND[toy]
    assert len(diffs) == FILES[toy]
    for name, hunks in diffs:
        assert all(before != after for before, after in hunks)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    apply(tmp_path, diffs)
    for name, _ in diffs:
        assert (tmp_path / name).read_text() != (ROOT / name).read_text()


def test_a_hunk_that_fits_nowhere_is_refused(tmp_path):
    page = "## Adding a thing\n```diff\n+++ a.txt\n@@\n one\n-two\n+three\n```\n"
    (tmp_path / "a.txt").write_text("zero\none\ntwo\n")
    apply(tmp_path, toys(page)["thing"])
    assert (tmp_path / "a.txt").read_text() == "zero\none\nthree\n"
    with pytest.raises(ValueError, match="0 places"):
        apply(tmp_path, toys(page)["thing"])
