"""RUSHLIGHT_FENCE: who touches memory outside of a block is found; programs compute the same as without."""

import os
import signal
import subprocess
import sys

import pytest

from helpers.process import SANITIZED, SOURCE

TOUCH = "import ctypes, sys, rushlight as torch; a = torch.zeros(20); p = a.data_ptr() + int(sys.argv[1])\n"
PROGRAM = """
import rushlight as torch
torch.manual_seed(0)
nn = torch.nn
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
step = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    loss = net(torch.randn(5, 1, 8, 8)).square().mean()
    step.zero_grad()
    loss.backward()
    step.step()
print(loss.item().hex(), torch.bmm(torch.rand(4, 33, 1), torch.rand(4, 1, 2)).sum().item().hex())
"""


def run(code, fence, *arguments):
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "RUSHLIGHT_FENCE": fence}
    if SANITIZED:  # a fault is the system's, not a report
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_abort=0"
    return subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("fence, at", [("1", 80), ("2", 80), ("1", 127), ("2", 4095)])
def test_what_is_written_beside_a_block_is_found_when_it_is_freed(fence, at):
    done = run(TOUCH + "ctypes.memset(p, 1, 1); del a; print('not found')", fence, str(at))
    assert done.returncode == -signal.SIGABRT and "somebody wrote to byte" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("fence, at", [("1", 128), ("1", 4000), ("2", -1), ("2", -4000), ("2", 4096)])
@pytest.mark.parametrize("touch", ["ctypes.memset(p, 1, 1)", "ctypes.string_at(p, 1)"])
def test_a_fence_lets_nobody_read_or_write(fence, at, touch):
    assert run(TOUCH + touch, fence, str(at)).returncode == -signal.SIGSEGV


@pytest.mark.parametrize("fence", ["1", "2"])
def test_freed_memory_is_never_used_again(fence):
    done = run(TOUCH + "del a; b = torch.zeros(20); ctypes.string_at(p, 1)", fence, "0")
    assert done.returncode == -signal.SIGSEGV


def test_the_whole_of_a_block_is_there():
    for fence in "12":
        done = run(TOUCH + "ctypes.memset(p, 0, 80); del a; print('fine')", fence, "0")
        assert (done.returncode, done.stdout) == (0, "fine\n")


def test_a_program_computes_the_same_between_fences():
    results = [run(PROGRAM, fence) for fence in ("0", "1", "2")]
    assert [done.returncode for done in results] == [0, 0, 0], results[-1].stderr
    assert len({done.stdout for done in results}) == 1 and results[0].stdout.count("0x") == 2


def test_more_tensors_than_the_system_has_mappings():
    code = "import rushlight as torch; a = [torch.ones(3) for _ in range(70000)]; print(sum(map(len, a)))"
    done = run(code, "1")
    assert (done.returncode, done.stdout) == (0, "210000\n"), done.stderr


def test_freed_blocks_leave_mappings_that_are_not_joined():
    code = (
        "import random, rushlight as torch; random.seed(0); a = []\n"
        "for _ in range(6):\n"
        "    while len(a) < 23900: a.append(torch.ones(3))\n"
        "    a = random.sample(a, len(a) // 2)\n"
        "print(sum(map(len, a)), torch.eye(40).inverse().sum().item())"
    )
    done = run(code, "1")
    assert (done.returncode, done.stdout) == (0, "35850 40.0\n"), done.stderr


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's shadow memory is larger than the limit")
def test_memory_for_fences_may_be_limited():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); import rushlight as torch;"
    )
    done = run(code + "print(torch.ones(3).sum().item())", "1")
    assert done.stdout == "3.0\n", done.stderr
