"""Tests of CUDA run on a GPU, or with RUSHLIGHT_CUDA_SIM=2 on two simulated devices; elsewhere not at all.

The simulated device checks every access of every kernel: a test fails when the checks found something. A
kernel that breaks a real GPU breaks it for the whole process: of several (-n) the process ends then, and
another one goes on with the tests that are left.
"""

import contextlib
import os
import sys

import pytest

import rushlight
from rushlight._device import cuda_extension

SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))
if not rushlight.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]


@contextlib.contextmanager
def indices_of_64_bits():
    """Kernels count small tensors as they count those of 2^31 elements."""
    cuda_extension().index_limit(1)
    try:
        yield
    finally:
        cuda_extension().index_limit(1 << 31)


@pytest.fixture(autouse=True)
def _whole_floats():
    """Convolutions of float32 round their factors unless told not to, as in PyTorch; the CPU's do not."""
    rushlight.backends.cudnn.allow_tf32 = False
    yield
    rushlight.backends.cudnn.allow_tf32 = True


@pytest.fixture(autouse=True)
def _checks():
    if not SIMULATED:
        yield
        return
    from rushlight import _cuda_sim

    _cuda_sim.clear_reports()
    yield
    for i in range(rushlight.cuda.device_count()):
        rushlight.cuda.synchronize(i)
    found = _cuda_sim.reports()
    _cuda_sim.clear_reports()
    assert not found, "\n".join(found)


def is_broken():
    """Does the device refuse everything from now on? What a kernel complained about is said only once."""
    for _ in range(2):
        try:
            rushlight.ones(1).to("cuda").cpu()
            rushlight.cuda.synchronize()
            return False
        except rushlight.AcceleratorError:
            pass
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and "PYTEST_XDIST_WORKER" in os.environ and is_broken():
        print(f"{item.nodeid} broke the device\n{report.longreprtext}", file=sys.__stderr__, flush=True)
        os._exit(1)
    return report
