"""Writes the Python code of README.md to a file: tests run it and type checkers read it.

python tools/readme_code.py FILE
"""

import pathlib
import re
import sys

README = pathlib.Path(__file__).parent.parent / "README.md"


def blocks():
    """The texts of the blocks that README.md calls python."""
    return re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.M | re.S)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text("\n\n".join(blocks()))
