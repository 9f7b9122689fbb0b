"""Storages that are gone are forgotten after each test, before it is looked at what is left."""

import gc

import pytest

from rushlight.multiprocessing import reductions


@pytest.fixture(autouse=True)
def _forget():
    yield
    gc.collect()
    with reductions.shared_cache.lock:
        reductions.shared_cache.free_dead_references()
