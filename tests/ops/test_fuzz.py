"""The fuzzer of operator calls: the same number gives the same call, and what goes wrong is found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
PLANTED = {  # a program, and what must be said of it
    "import os; os.abort()": "dies: given, --replay 0 0",
    "while True: pass": "hangs: given, --replay 0 1",
    "raise SystemError('torch.topk failed without a reason')": "SystemError: torch.topk failed",
    "raise RuntimeError()": "RuntimeError:  (",
    "a = torch.ones((3,)); sys.leaked = [*getattr(sys, 'leaked', []), a]": "leaks: given, --replay 0 4",
    "r = torch.ones((2, 2)); look(r)": "",
    "r = torch.ones((2, 2)).max(7)": "",
}


def run(*arguments):
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path]))
    command = [sys.executable, FUZZ / "fuzz_ops.py", "--jobs", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path))


def test_what_goes_wrong_is_found(tmp_path):
    programs = tmp_path / "programs"
    programs.write_text("\n\n".join(PLANTED))
    done = run("--programs", programs, "--calls", str(len(PLANTED)), "--limit", "4")
    assert done.returncode == 1 and done.stderr == ""
    for text in PLANTED.values():
        assert text in done.stdout
    assert done.stdout.splitlines()[-1].endswith("5 findings")


def test_calls_are_the_same_every_time_and_reach_the_kernels():
    first, second = (run("--replay", "3", "0", "40") for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.count("----") == 41 and first.stdout.count("\nreturned") > 10


@pytest.fixture
def kit(monkeypatch):
    monkeypatch.syspath_prepend(str(FUZZ))
    import fuzz_kit

    return fuzz_kit


def test_a_view_outside_of_its_memory_is_found(kit):
    class Outside(kit.Sub):
        def storage_offset(self):
            return 3

    a = kit.torch._as_subclass(kit.torch.ones((2, 2)), Outside)
    with pytest.raises(SystemError, match="outside of the storage"):
        kit.look((a,))
