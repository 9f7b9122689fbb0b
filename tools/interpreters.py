"""The interpreter of a version: python tools/interpreters.py 3.12 prints its path, or nothing.

From the PATH, or from pyenv, whose shims may lead nowhere.
"""

import os
import subprocess
import sys
from pathlib import Path

RUNS = "import ensurepip, sys; sys.exit('%d.%d' % sys.version_info[:2] != sys.argv[1])"


def candidates(version):
    name = f"python{version}"
    yield name
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(root.glob(f"versions/{version}*/bin/{name}"))


def find(version):
    """Its path or name, None where there is none that runs and can make environments."""
    for candidate in map(str, candidates(version)):
        try:
            done = subprocess.run([candidate, "-c", RUNS, version], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return None


if __name__ == "__main__":
    print(find(sys.argv[1]) or "")
