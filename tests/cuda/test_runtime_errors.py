"""What fails on a device: the process lives, tensors stay whole, counters right; and what the errors say."""

import gc
import os
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight import cuda

SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))
simulated = pytest.mark.skipif(not SIMULATED, reason="asks the simulated device")
FAILURES = (torch.AcceleratorError, torch.OutOfMemoryError)
LAST = cuda.device_count() - 1


def run(code, **environment):
    """Run a program of its own and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import rushlight as torch\n" + code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


# ---- failures at every call ----
def work(x, pinned):
    """Something of everything: memory of both sizes, copies, kernels, streams, events, another device."""
    side, main = cuda.Stream(), cuda.current_stream()
    there = x.to("cuda")
    there.record_stream(side)
    large = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
    side.wait_stream(main)
    with cuda.stream(side):
        twice = there + there
        twice.record_stream(main)
        moved = pinned.to("cuda", non_blocking=True)
        moved.record_stream(main)
    end = cuda.Event()
    end.record(side)
    end.wait()
    elsewhere = (twice + moved).to(f"cuda:{LAST}")
    large.untyped_storage().resize_(4 << 20)
    answer = elsewhere.cpu()
    again = x.clone().pin_memory()
    again.copy_(twice, non_blocking=True)
    cuda.synchronize()
    return answer, again


def settled():
    gc.collect()
    for i in range(cuda.device_count()):
        cuda.synchronize(i)
    cuda.empty_cache()
    return [(cuda.memory_allocated(i), cuda.memory_reserved(i)) for i in range(cuda.device_count())]


@simulated
@pytest.mark.skipif(LAST < 1, reason="one device only")
@pytest.mark.parametrize("times", [1, 3])
def test_failures_at_every_call_of_the_runtime(times):
    from rushlight import _cuda_sim as sim

    x = torch.arange(2000.0)
    pinned, kept = x.pin_memory(), (x + 1).to("cuda")
    work(x, pinned)
    before = settled()  # and no memory is kept, so that there are calls of cudaMalloc
    start = sim.calls()
    work(x, pinned)
    calls = sim.calls() - start
    assert calls > 60
    failed = set()
    for n in range(1, calls + 1):
        cuda.empty_cache()
        sim.fail(n, times)
        try:
            work(x, pinned)
        except FAILURES:
            pass
        name = sim.failed()
        sim.fail(0)
        failed.add(name)
        assert cuda.current_stream() == cuda.default_stream() and cuda.current_device() == 0, name
        if n % 7 == 0:
            assert settled() == before, f"{n}: {name}"
    assert settled() == before
    assert len(failed) > 8 and (times > 1 or "cudaMalloc" in failed)  # the last one of several is named
    answer, again = work(x, pinned)
    assert answer.equal(3 * x) and again.equal(2 * x) and pinned.equal(x) and x[7] == 7
    assert kept.cpu().equal(x + 1)


@simulated
def test_a_failing_call_is_named():
    from rushlight import _cuda_sim as sim

    cuda.synchronize()
    sim.fail(1, 1)
    try:
        with pytest.raises(torch.AcceleratorError, match="^CUDA error: unknown error"):
            cuda.synchronize()
    finally:
        sim.fail(0)
    cuda.synchronize()


# ---- errors of kernels ----
def test_an_index_out_of_range_is_an_error_of_the_device():
    x, index = torch.arange(10.0).to("cuda"), torch.tensor([1, 99]).to("cuda")
    picked = x.index_select(0, index)
    with pytest.raises(torch.AcceleratorError, match="CUDA error: device-side assert triggered") as caught:
        cuda.synchronize()
    assert "index_select" in str(caught.value) and "CUDA_LAUNCH_BLOCKING=1" in str(caught.value)
    cuda.synchronize()  # nothing broke
    assert x.cpu()[1] == 1 and picked.shape == (2,)


def test_launches_that_wait_name_the_culprit():
    said = run(
        """
x, index = torch.arange(10.0).to("cuda"), torch.tensor([1, 99]).to("cuda")
x + x
try:
    x.index_select(0, index)
except torch.AcceleratorError as error:
    print(str(error).splitlines()[1])
""",
        CUDA_LAUNCH_BLOCKING="1",
    )
    assert said == "Launched on cuda:0 since the last synchronisation: index_select.\n"


BROKEN = """
from rushlight import _cuda_sim as sim
import ctypes, gc

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("index", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

x, here = torch.arange(10.0).to("cuda"), torch.arange(10.0)
shape = (ctypes.c_int64 * 1)(10)
wild = Tensor(x.data_ptr() + (1 << 30), 2, 0, 1, 2, 32, 1, ctypes.addressof(shape), None, 0, None, None)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
y = torch._C._from_dlpack(new(ctypes.addressof(wild), b"dltensor", None))
z = x + y
wait, upload, item = torch.cuda.synchronize, lambda: here.to("cuda"), lambda: z[0].item()
for act in (wait, z.cpu, lambda: x + x, upload, torch.cuda.Stream, item):
    try:
        act()
        print("nothing")
    except torch.AcceleratorError as error:
        print(str(error).splitlines()[0])
assert here.sum() == 45 and torch.cuda.memory_allocated() > 0
del x, y, z
gc.collect()
torch.cuda.memory_stats()
print((here + 1).sum().item())
"""


@simulated
def test_after_an_error_that_stays_every_call_raises_it():
    said = run(BROKEN).splitlines()
    assert said == ["CUDA error: an illegal memory access was encountered"] * 6 + ["55.0"]


# ---- fork ----
FORK = """
import os
torch.ones(2){}
child = os.fork()
if child == 0:
    try:
        print(torch.ones(2).to("cuda").cpu(), flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_cannot_go_on():
    said = run(FORK.format(".to('cuda')"))
    assert said.startswith(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must"
    )


@pytest.mark.skipif(SIMULATED, reason="the simulated device is asked itself")
def test_a_process_that_only_asked_may_fork():
    assert "cuda:0" not in run(FORK.format("; torch.cuda.is_available(); torch.cuda.device_count()"))


# ---- operators without a kernel ----
def test_operators_without_a_kernel_name_the_switch():
    code = """
x = torch.tensor([[2.0, 1.0], [1.0, 3.0]]).to("cuda")
try:
    print(torch.linalg.svdvals(x).device, torch.linalg.svdvals(x).device)
    print(torch.linalg.inv(x).cpu())
except NotImplementedError as error:
    print(error)
"""
    said = run(code, RUSHLIGHT_CUDA_FALLBACK="0")
    assert "'linalg_svdvals'" in said and "RUSHLIGHT_CUDA_FALLBACK=1 runs it on the CPU" in said
    said = run(code, RUSHLIGHT_CUDA_FALLBACK="1")
    assert "cuda:0 cuda:0" in said and "[ 0.6000, -0.2000]" in said
    assert said.count("'linalg_svdvals' has no CUDA kernel") == 1


@simulated
def test_blocks_of_a_device_that_breaks_are_known_once_it_is_mended():
    """What the allocator did meanwhile counts, even though no kernel ran."""
    from rushlight import _cuda_sim as sim

    x = torch.arange(64.0).to("cuda")
    cuda.synchronize()
    given = x + 1
    sim.break_device()
    later = x + 2  # its block waits to begin, and the one before to end, behind what breaks the device
    del given
    with pytest.raises(torch.AcceleratorError, match="CUDA error: an illegal memory access"):
        cuda.synchronize()
    del later
    sim.mend()
    cuda.synchronize()
    assert [(x + i).cpu()[1].item() for i in range(4)] == [1, 2, 3, 4]
    assert not sim.reports()
