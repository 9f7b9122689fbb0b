"""Writes the Python code of a page to a file: tests run it and type checkers read it.

python tools/readme_code.py PAGE FILE
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent


def code(page):
    """The blocks of a page that it calls python, one after the other."""
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.M | re.S))


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(code(sys.argv[1]))
