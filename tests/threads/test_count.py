"""How many threads kernels take: what OMP_NUM_THREADS, the process' CPUs and its cgroup say, and what
set_num_threads() says for rushlight's kernels and for oneDNN, whichever Python thread calls."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
from rushlight import _C


def count(root="/nowhere", omp=None, online=64, allowed=64):
    return _C._cpu_count(omp, online, allowed, str(root))


@pytest.fixture
def tree(tmp_path):
    """Plants the files of a machine below tmp_path: /proc/self/cgroup, and those of the groups."""

    def plant(groups, files):
        for name, text in {"../../../proc/self/cgroup": groups, **files}.items():
            path = Path(os.path.normpath(tmp_path / "sys/fs/cgroup" / name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return plant


# ---- OMP_NUM_THREADS ----
@pytest.mark.parametrize(
    "text, threads",
    [
        *(("1", 1), ("3", 3), ("4,2", 4), (" 5 , 3 ", 5), ("+2", 2), ("7\n", 7), ("100", 64)),
        *(
            (bad, 10)
            for bad in ("", " ", "0", "-1", "abc", "3x", "4,", ",4", "4,x", "4,0", "4;2", "1e3", "0x2")
        ),
        *((bad, 10) for bad in ("18446744073709551617", "9" * 400)),
        ("9223372036854775807", 64),
    ],
)
def test_omp_num_threads(text, threads):
    """Its first number counts, no more than the machine has; what libgomp refuses is not there."""
    assert count(omp=text, allowed=10) == threads


def test_affinity_counts_where_omp_num_threads_does_not():
    assert count(allowed=3) == 3
    assert count(allowed=0) == 1
    assert count(omp="8", allowed=3) == 8  # whoever says a number means it


# ---- cgroups ----
@pytest.mark.parametrize(
    "text, threads",
    [
        *(("200000 100000", 2), ("150000 100000", 2), ("100001 100000", 2), ("100000 100000", 1)),
        *(("1000 100000", 1), ("1 1000000", 1), ("300000", 3), ("50000 10000", 5)),
        *(
            (none, 64)
            for none in ("max 100000", "max", "", "garbage", "-1 100000", "0 100000", "9 0", "9 -5")
        ),
        *((none, 64) for none in ("9 x", "100000 100000 x", "1" * 40 + " 100000", "9223372036854775807 1")),
    ],
)
def test_quota_v2(tree, text, threads):
    root = tree("0::/jobs/one\n", {"jobs/one/cpu.max": text + "\n"})
    assert count(root) == threads
    assert count(root, allowed=2) == min(2, threads)
    assert count(root, omp="7") == 7


@pytest.mark.parametrize(
    "quota, period, threads",
    [
        *(("200000", "100000", 2), ("250000", "100000", 3), ("1000", "100000", 1), ("40000", "10000", 4)),
        *((none, "100000", 64) for none in ("-1", "0", "", "max", "9x")),
        *(("200000", none, 64) for none in ("0", "-1", "", "x")),
    ],
)
@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
def test_quota_v1(tree, quota, period, threads, mount):
    files = {"cpu.cfs_quota_us": quota + "\n", "cpu.cfs_period_us": period + "\n"}
    root = tree(
        "5:memory:/jobs/one\n4:cpu,cpuacct:/jobs/one\n3:cpuset:/\n",
        {f"{mount}/jobs/one/{name}": text for name, text in files.items()},
    )
    assert count(root) == threads


def test_the_least_quota_of_the_way_up_holds(tree):
    files = {"a/b/c/cpu.max": "800000 100000", "a/b/cpu.max": "300000 100000", "a/cpu.max": "max 100000"}
    assert count(tree("0::/a/b/c\n", files)) == 3
    assert count(tree("0::/a\n", files)) == 64
    assert count(tree("0::/a/b/c/d/e\n", files)) == 3  # folders that are gone
    assert count(tree("0::/a/bb\n", files)) == 64


def test_the_path_of_a_host_ends_at_the_root_of_a_container(tree):
    assert count(tree("0::/docker/12ab\n", {"cpu.max": "200000 100000"})) == 2
    assert count(tree("0::/../../x\n", {"cpu.max": "500000 100000"})) == 5
    assert count(tree("0::/\n", {"cpu.max": "600000 100000"})) == 6


def test_both_versions_at_once(tree):
    groups = "3:cpu:/a\n1:name=systemd:/\n0::/a\n"
    v1 = {"cpu/a/cpu.cfs_quota_us": "300000", "cpu/a/cpu.cfs_period_us": "100000"}
    assert count(tree(groups, v1)) == 3
    assert count(tree(groups, {**v1, "unified/a/cpu.max": "200000 100000"})) == 2
    assert count(tree("3:cpuset:/a\n3:cpuacct,xcpu:/a\n", v1)) == 64


@pytest.mark.parametrize(
    "groups",
    ["", "\n", "0:\n", "::\n", "0::\n", "0::relative\n", "garbage", "0::/" + "a" * 9000 + "\n", "\0\0"],
)
def test_no_group_no_limit(tree, groups):
    assert count(tree(groups, {"relative/cpu.max": "100000 100000"})) == 64


def test_no_files_no_limit(tmp_path):
    assert count(tmp_path) == 64
    assert count("/" + "x" * 20000) == 64
    (tmp_path / "proc/self/cgroup").mkdir(parents=True)
    assert count(tmp_path) == 64


# ---- the whole, in a process of its own ----
def fresh(code, **env):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}, **env}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SAY = "import os, rushlight; print(rushlight.get_num_threads())"


def test_default_of_a_process():
    assert fresh(SAY, OMP_NUM_THREADS="1") == ["1"]
    assert fresh(SAY, OMP_NUM_THREADS="1,5") == ["1"]
    pin = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    assert fresh(pin + SAY) == ["1"]
    (n,) = fresh(SAY)
    assert 1 <= int(n) <= len(os.sched_getaffinity(0))
    assert fresh(SAY, OMP_NUM_THREADS="no number") == [n]


TASKS = """
import os, sys, threading, time
import rushlight as torch
from rushlight.nn import functional as F

def tasks():
    return len(os.listdir("/proc/self/task"))

def settled():
    # workers that make way for another team are listed until they have ended
    counts = []
    for _ in range(10):
        time.sleep(0.005)
        counts.append(tasks())
    return min(counts)

def work():
    before = tasks()  # the workers of this thread live as long as it does
    F.conv2d(torch.ones(2, 8, 32, 32), torch.ones(16, 8, 3, 3))
    F.linear(torch.ones(96, 512), torch.ones(384, 512))
    (torch.ones(256, 256) @ torch.ones(256, 256)).softmax(1)
    print(settled() - before)

def elsewhere():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

torch.set_num_threads(int(sys.argv[1]))
(work if sys.argv[2] == "here" else elsewhere)()
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts the threads in /proc")
@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("isa", ["", "none"])  # "none": what oneDNN can do it does
def test_set_num_threads_holds_in_every_thread(where, isa):
    """OpenMP keeps its count per thread: what one thread sets, oneDNN must find in all."""

    def started(n, omp):
        head = f"import sys; sys.argv = ['', '{n}', '{where}']\n"
        (grown,) = fresh(head + TASKS, OMP_NUM_THREADS=omp, RUSHLIGHT_ISA=isa)
        return int(grown)

    assert started(1, omp="4") == 0
    assert started(3, omp="2") <= 2


def test_set_num_threads_refuses():
    """As PyTorch does, word by word."""
    n = torch.get_num_threads()
    for bad, kind, text in (
        *((value, RuntimeError, "set_num_threads expects a positive integer") for value in (0, -1, -(2**31))),
        (1.0, RuntimeError, "set_num_threads expects an int, but got float"),
        ("2", RuntimeError, "set_num_threads expects an int, but got str"),
        (True, RuntimeError, "set_num_threads expects an int, but got bool"),
        (None, RuntimeError, "set_num_threads expects an int, but got NoneType"),
        (torch.tensor(2), RuntimeError, "set_num_threads expects an int, but got Tensor"),
        (2**31, ValueError, "Overflow when unpacking long"),
        (2**63, ValueError, "Overflow when unpacking long long"),
        (-(2**70), ValueError, "Overflow when unpacking long long"),
    ):
        with pytest.raises(kind) as error:
            torch.set_num_threads(bad)
        assert str(error.value) == text
    assert torch.get_num_threads() == n


def test_set_num_threads_takes():
    n = torch.get_num_threads()
    try:
        for number in (1, 3, np.int64(5), np.uint8(2), 5000, 2**31 - 1):
            torch.set_num_threads(number)
            assert torch.get_num_threads() == number
            assert torch.ones(300).softmax(0).sum().item() == pytest.approx(1)
    finally:
        torch.set_num_threads(n)
