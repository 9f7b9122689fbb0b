"""Python in a process of its own, which finds the package that this one found."""

import os
import subprocess
import sys
from pathlib import Path

import rushlight

SOURCE = Path(rushlight.__file__).parent.parent
SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")  # whose shadow memory is larger than most limits


def python(code, **environment):
    env = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
