"""What tools/check_ptxas.py reads of nvcc's words, where nvcc is looked for, how barriers are removed."""

import pytest

import check_gpu
import check_ptxas
import cuda_build
import mutate_cuda

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4goodPf' for 'sm_80'
ptxas info    : Function properties for _Z4goodPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 1088 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 5.110 ms
ptxas info    : Compiling entry function '_Z3badPf' for 'sm_80'
ptxas info    : Function properties for _Z3badPf
    96 bytes stack frame, 88 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 360 bytes cmem[0]
"""
PTX = """
.visible .entry _Z4goodPf(
\t.param .u64 .ptr .align 1 _Z4goodPf_param_0
)
.maxntid 256
{
}
.visible .entry _Z3badPf(
\t.param .u64 .ptr .align 1 _Z3badPf_param_0
)
{
}
"""


def test_what_ptxas_says_is_read():
    good, bad = check_ptxas.read(LOG, PTX)
    assert good == check_ptxas.Kernel("_Z4goodPf", 255, 256, 0, 1088, 0)
    assert bad == check_ptxas.Kernel("_Z3badPf", 64, 0, 96, 0, 96)


@pytest.mark.parametrize(
    "registers, threads, spilled, stack, found",
    [
        (255, 256, 0, 0, []),
        (64, 1024, 0, 512, []),
        (64, 1024, 0, 520, ["has a stack of 520 bytes"]),
        (65, 1024, 0, 0, ["needs 73728 registers: 65 in each of 1024 threads"]),
        (32, 256, 4, 0, ["spills 4 bytes"]),
        (32, 0, 0, 0, ["has no __launch_bounds__"]),
    ],
)
def test_kernels_that_no_launch_could_run_fail(registers, threads, spilled, stack, found):
    kernel = check_ptxas.Kernel("k", registers, threads, spilled, 0, stack)
    assert list(check_ptxas.problems(kernel)) == found


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    for name in ("NVCC", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cuda_build, "TOOLKITS", ())
    monkeypatch.setattr(cuda_build, "wheel_folders", lambda: [tmp_path / "nvidia" / "cu13"])
    return tmp_path


def test_nvcc_is_found_in_wheels(nowhere):
    with pytest.raises(cuda_build.NoCompiler, match="CUDA_HOME or NVCC say where it is"):
        cuda_build.find_nvcc()
    nvcc = nowhere / "nvidia" / "cu13" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.touch()
    assert cuda_build.find_nvcc() == str(nvcc)


def test_nvcc_of_a_toolkit_comes_first(nowhere, monkeypatch):
    nvcc = nowhere / "toolkit" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.touch()
    monkeypatch.setenv("CUDA_HOME", str(nowhere / "toolkit"))
    assert cuda_build.find_nvcc() == str(nvcc)


def test_architectures_are_spelt_for_nvcc():
    assert list(cuda_build.gencode("80;90+PTX")) == [
        *("-gencode", "arch=compute_80,code=sm_80"),
        *("-gencode", "arch=compute_90,code=[sm_90,compute_90]"),
    ]


def test_each_barrier_is_removed_in_turn():
    text = (
        "/* __syncthreads() */\n__syncthreads();\nif (__syncthreads_or(f(x) > (1)))\n    __syncwarp(mask);\n"
    )
    found = [(line, text[begin:end], own) for begin, end, line, own in mutate_cuda.barriers(text)]
    assert found == [
        (2, "__syncthreads()", "((void)0)"),
        (3, "__syncthreads_or(f(x) > (1))", "((f(x) > (1)) != 0)"),
        (4, "__syncwarp(mask)", "((void)0)"),
    ]
    asked = mutate_cuda.ask(text, 7)
    for number, (_, barrier, own) in enumerate(found, 7):
        assert f"(cuda_sim_has_barrier({number}) ? {barrier} : {own})" in asked
    assert asked.count("\n") == text.count("\n") and asked.count("cuda_sim_has_barrier(7)") == 1


def test_the_newest_run_of_each_stage_is_on_the_page(tmp_path):
    page = tmp_path / "cuda.md"
    page.write_text(f"before\n{check_gpu.BEGIN}{check_gpu.END}behind\n")
    check_gpu.write(page, "tests", "first GPU", ["* tests: failed (1), 3 s"])
    check_gpu.write(page, "build", "first GPU", ["* build: passed, 9 s"])
    check_gpu.write(page, "tests", "other GPU", ["* tests: passed, 2 s"])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("behind\n") and "failed" not in text
    assert text.index("### build") < text.index("first GPU") < text.index("### tests")
    assert text.index("### tests") < text.index("other GPU") < text.index("* tests: passed, 2 s")


def test_what_a_command_started_ends_with_its_stage(tmp_path, monkeypatch):
    monkeypatch.setattr(check_gpu, "LOGS", tmp_path)
    stage = check_gpu.Stage("tests", 0.5)
    passed, said = stage.run("slow", "sh", "-c", "echo begun; sleep 60 & sleep 60")
    assert not passed and said == "begun" and "ran out of time" in stage.lines[0]
    assert stage.run("missing", "/no/such/program")[0] is False and "did not start" in stage.lines[1]


def test_only_options_that_a_version_knows_are_given(tmp_path):
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\necho '  --error-exitcode arg  --tool arg'\n")
    tool.chmod(0o755)
    assert check_gpu.options_of(str(tool), "memcheck") == ["--tool", "memcheck", "--error-exitcode", "9"]
