"""rushlight info, and the other places that tell what this build and machine are."""

import json
import os
import platform
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import rushlight as torch
from rushlight._command import facts, main
from rushlight.utils import collect_env
from rushlight.version import __version__


def fresh(code, **environment):
    """What a fresh interpreter prints under these switches."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RUSHLIGHT_")}
    env = {**kept, "PYTHONPATH": str(Path(torch.__file__).parents[1]), **environment}
    done = subprocess.run([sys.executable, *code], env=env, capture_output=True, text=True, check=True)
    return done.stdout


def cpu_has(*flags):
    fields = facts._cpu_fields()
    return set(flags) <= set(fields.get("flags", "").split())


def widest():
    avx2 = cpu_has("avx2", "fma", "f16c")
    return (
        "AVX512" if cpu_has("avx512f", "avx512bw", "avx512dq", "avx512vl") else "AVX2" if avx2 else "DEFAULT"
    )


ASK = ("-c", "import rushlight; print(rushlight.backends.cpu.get_cpu_capability())")


@pytest.mark.parametrize(
    ("switches", "most"),
    [
        ({}, "AVX512"),
        ({"RUSHLIGHT_ISA": "avx2"}, "AVX2"),
        ({"RUSHLIGHT_ISA": "none"}, "DEFAULT"),
        ({"RUSHLIGHT_KERNELS": "ref"}, "DEFAULT"),
    ],
)
def test_cpu_capability_is_what_kernels_use(switches, most):
    order = ["DEFAULT", "AVX2", "AVX512"]
    assert fresh(ASK, **switches) == min(most, widest(), key=order.index) + "\n"


def test_facts_as_json():
    switches = {
        "OMP_NUM_THREADS": "1",
        "RUSHLIGHT_ONEDNN": "0",
        "RUSHLIGHT_SCIPY": "off",
        "RUSHLIGHT_ODD": "\x1b[1m",
    }
    found = json.loads(fresh(("-m", "rushlight", "info", "--json"), **switches))
    assert found["schema"] == 1 and found["rushlight"]["version"] == __version__
    assert found["python"]["version"] == platform.python_version()
    assert found["processor"]["threads"] == 1
    assert found["processor"]["allowed"] == len(os.sched_getaffinity(0))
    assert found["onednn"] == {"reason": "RUSHLIGHT_ONEDNN=0"}
    assert found["lapack"] == {"reason": "RUSHLIGHT_SCIPY=off"}
    assert switches.items() <= found["environment"].items()
    assert found["memory"]["total"] > found["memory"]["available"] > 0


def test_text_has_a_line_for_each_topic(capsys, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_ODD", "a\x1b[1m\nb")
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    for topic in (
        "rushlight",
        "extension",
        "Python",
        "system",
        "processor",
        "instructions",
        "CPUs",
        "threads",
    ):
        assert f"\n{topic} " in "\n" + out
    for topic in ("memory", "oneDNN", "LAPACK", "NumPy", "CUDA", "packages", "environment"):
        assert f"\n{topic} " in out
    assert "RUSHLIGHT_ODD=a\\x1b[1m\\nb (unknown to this build)\n" in out and "\x1b" not in out
    assert [text.split()[0] for text in collect_env.get_pretty_env_info().splitlines()] == [
        text.split()[0] for text in out.splitlines()
    ]
    collect_env.main()
    assert capsys.readouterr().out.startswith("Collecting environment information...\nrushlight ")


def test_a_onednn_that_cannot_be_opened_says_why():
    out = fresh(("-m", "rushlight", "info"), RUSHLIGHT_ONEDNN="/nowhere/libdnnl.so")
    line = next(text for text in out.splitlines() if text.startswith("oneDNN"))
    assert "not used: /nowhere/libdnnl.so: cannot open shared object file" in line


def test_what_only_one_thread_is_for(monkeypatch, capsys):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    assert facts.collect()["processor"]["one_thread"] is None
    monkeypatch.setattr("ctypes.CDLL", missing)
    assert main(["info"]) == 0
    line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("threads "))
    assert line.endswith("; only one works: libgomp.so.1: cannot open shared object file")


@pytest.mark.parametrize(
    ("devices", "told"),
    [(2, {"devices": 2}), (0, {"reason": "no GPU was found: no CUDA-capable device is detected"})],
)
def test_what_the_cuda_extension_says(devices, told, monkeypatch):
    fake = types.ModuleType("rushlight._cuda")
    fake.__spec__ = ModuleSpec(fake.__name__, None)
    fake.device_count = lambda: devices
    fake.last_error = lambda: "no CUDA-capable device is detected"
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    monkeypatch.setattr(torch, "_cuda", fake, raising=False)
    assert facts._cuda() == told


def test_memory_limits_of_cgroups(tmp_path):
    groups, own = tmp_path / "sys" / "fs" / "cgroup", tmp_path / "proc" / "self"
    (groups / "a" / "b").mkdir(parents=True)
    own.mkdir(parents=True)
    assert facts._cgroup_memory(str(tmp_path)) is None
    (own / "cgroup").write_text("0::/a/b\n")
    assert facts._cgroup_memory(str(tmp_path)) is None
    (groups / "a" / "b" / "memory.max").write_text("max\n")
    (groups / "a" / "memory.max").write_text("500\n")
    assert facts._cgroup_memory(str(tmp_path)) == 500
    (own / "cgroup").write_text("4:cpu,memory:/x\n5:memory:/c\n")
    (groups / "memory" / "c").mkdir(parents=True)
    (groups / "memory" / "memory.limit_in_bytes").write_text("300\n")
    (groups / "memory" / "c" / "memory.limit_in_bytes").write_text("400\n")
    assert facts._cgroup_memory(str(tmp_path)) == 300


def test_what_the_build_says_of_itself():
    shown = torch.__config__.show()
    assert shown.startswith("PyTorch built with:\n  - rushlight ")
    assert f"CPU capability usage: {torch.backends.cpu.get_cpu_capability()}\n" in shown
    assert torch._C._build()["mode"] in ("release", "debug", "asan", "ubsan", "tsan", "cov")
    assert f"at::get_num_threads() : {torch.get_num_threads()}\n" in torch.__config__.parallel_info()


def test_values_that_nobody_reads_are_told(capsys, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_ISA", "avx9")
    monkeypatch.setenv("RUSHLIGHT_SCIPY", "0")
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "RUSHLIGHT_ISA=avx9 (ignored: it is avx512 or avx2 or none)\n" in out
    assert "RUSHLIGHT_SCIPY=0\n" in out
