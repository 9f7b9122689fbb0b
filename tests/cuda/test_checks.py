"""The simulated device reports each kernel of broken_kernels.cu that is wrong, in any order of threads, and
none that is right."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import cuda_build
from build_objects import Failed, link, make_all

SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))

pytestmark = pytest.mark.skipif(not SIMULATED, reason="these are the simulated device's checks")
ROOT = Path(__file__).parents[2]

WRONG = {
    "neighbours without barrier": "what another thread",
    "lanes without barrier": "what another thread",
    "warps by __syncwarp": "what another thread",
    "reused without barrier": "what another thread",
    "read by all without barrier": "what another thread",
    "same byte": "writes what another thread writes",
    "word over bytes": "writes what another thread writes",
    "diverges": "threads do not all meet at one barrier; 249 have returned; 7 wait at a barrier in line",
    "two barriers": "threads do not all meet at one barrier",
    "half a warp": "threads do not all meet at one barrier; 128 have returned; 128 wait at an exchange",
    "returns early": "threads do not all meet at one barrier; 56 have returned; 200 wait at",
    "lane outside of the mask": "an exchange with a lane outside of its mask",
    "half of the votes": "threads do not all meet at one barrier; 128 have returned; 128 wait at an exchange",
    "a warp with 16 lanes": "a mask names a lane that is not there",
    "wrong mask": "a lane is missing from its own mask",
    "waits alone": "threads wait for each other in a kernel of CUDA_LAUNCH",
    "stack of another": "the stack of another thread",
    "atomic and plain": "another thread",
    "plain between atomics": "another thread",
    "unset": "reads memory that nobody has written",
    "unset shared": "reads memory that nobody has written at broken_kernels.cu:",
    "over the end": "touches memory outside of a block",
    "before the start": "touches memory outside of a block",
    "shared over the end": "touches shared memory outside of a variable",
    "dynamic over the end": "touches shared memory outside of a variable",
    "memory of the host": "touches memory of the host",
    "misaligned": "at an address that is not aligned",
    "too many threads": "a launch that no device can run",
    "too many threads along z": "a launch that no device can run",
    "too many blocks along y": "a launch that no device can run",
    "too many blocks along z": "a launch that no device can run",
    "shared memory not asked for": "a launch that no device can run",
    "shared memory beyond all": "cudaErrorInvalidValue",
    "no block": "a launch that no device can run",
    "blocks one place": "writes what another thread writes",
    "blocks read and write": "what another thread",
    "two streams": "what another thread",
    "copy after a kernel": "what another thread",
    "kernel after a copy": "what another thread",
    "copy over the end": "a copy out of bounds",
    "ended": "of a block",
    "used after its end": "touches memory outside of a block",
    "another device": "touches memory of another device, which is no peer",
    "stream of another device": "cudaErrorInvalidResourceHandle",
}
RIGHT = [
    *("neighbours", "lanes", "reused", "read by all", "own bytes", "atomics", "simple", "aligned"),
    *("lane of the mask", "all votes", "shared memory asked for"),
    *("copy after a kernel, by an event", "kernel after a copy, by an event"),
    *("two streams by an event", "ended in order", "another device, a peer"),
]


@pytest.fixture(scope="module")
def program():
    os.chdir(ROOT)
    objects = ROOT / "build" / "objects"
    of = cuda_build.simulated(objects, is_strict=True)
    sources = ["tests/cuda/broken_kernels.cu", *sorted(map(str, Path("csrc/cuda/sim").glob("*.cpp")))]
    try:
        made, _ = make_all([(of[Path(source).suffix], source) for source in sources])
        target = of[".cu"].folder / "broken_kernels"
        link([*cuda_build.cxx(), "-pie"], made, cuda_build.link_flags(), target)
    except Failed as why:
        pytest.fail(str(why))
    return target


def found(program, *words):
    settings = {**os.environ, "RUSHLIGHT_CUDA_SIM": "2"}
    done = subprocess.run([program, *words], capture_output=True, text=True, env=settings, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported(program, name):
    for seed in range(3):
        assert WRONG[name] in found(program, name, str(seed))


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not(program, name):
    for seed in range(3):
        assert found(program, name, str(seed)) == ""


def test_the_host_reads_no_memory_of_a_device(program):
    settings = {**os.environ, "RUSHLIGHT_CUDA_SIM": "2"}
    done = subprocess.run(
        [program, "read by the host"], capture_output=True, text=True, env=settings, timeout=60
    )
    assert done.returncode == -signal.SIGSEGV and done.stdout == ""
