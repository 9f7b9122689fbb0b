"""The recorded outputs beside tests/scripts/*.py are what PyTorch prints."""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")
SCRIPTS = sorted(Path(__file__).parents[1].joinpath("scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_record_is_true(script):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == script.with_suffix(".expected").read_text(encoding="utf-8")
