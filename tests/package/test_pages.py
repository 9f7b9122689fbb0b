"""The code of README.md and of the guide runs as it stands, block after block."""

import subprocess
import sys

import pytest

import readme_code

PAGES = {
    "README.md": "Linear(in_features=2, out_features=32",
    "docs/index.md": "tensor(2.",
    "docs/guide.md": "3 ",
}


@pytest.mark.parametrize("page", PAGES)
def test_code_of_pages_runs(page, tmp_path):
    program = tmp_path / "page.py"
    program.write_text(readme_code.code(page))
    command = [sys.executable, "-W", "error", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert PAGES[page] in done.stdout
