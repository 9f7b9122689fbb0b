"""Tests of CUDA run on a GPU, or with RUSHLIGHT_CUDA_SIM=2 on two simulated devices; elsewhere not at all.

The simulated device checks every access of every kernel: a test fails when the checks found something.
"""

import os

import pytest

import rushlight

SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))
if not rushlight.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]


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
