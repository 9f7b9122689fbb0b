"""Same seed before every test; no tensor, storage, node or byte left behind, and no setting changed."""

import gc
import os
import random
import sys
import zlib

import pytest

from helpers import tried
from helpers.state import changes, process_state
from rushlight import _C


def pytest_configure(config):
    config.pluginmanager.register(tried)
    config.addinivalue_line("markers", "allow_live: this test may leave tensors alive")
    config.addinivalue_line("markers", "threads: run under ThreadSanitizer by make tsan")
    config.addinivalue_line("markers", "races: its threads write without a lock: left out by make tsan")


def pytest_collection_modifyitems(config, items):
    """RUSHLIGHT_SAMPLE=n: of the generated cases of tests/ops every nth, always the same."""
    n = int(os.environ.get("RUSHLIGHT_SAMPLE") or 1)
    if n > 1:
        sampled = [
            item
            for item in items
            if not item.nodeid.startswith("tests/ops/")
            or not hasattr(item, "callspec")
            or zlib.crc32(item.nodeid.encode()) % n == 0
        ]
        kept = set(sampled)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = sampled


def freeze_heap():
    """Objects that live on need no look from the garbage collections that later tests ask for."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish(session):
    freeze_heap()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """At the end of each file: what it imported and cached stays, and most of the suite was scanning it."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        freeze_heap()
    return result


@pytest.fixture(autouse=True)
def _seed():
    random.seed(0)
    _C.default_generator.manual_seed(0)


@pytest.fixture(autouse=True)
def _same_state():
    """Tests depend on no order: what a process keeps between calls is afterwards what it was before."""
    before = process_state()
    yield
    changed = changes(before, process_state())
    assert not changed, f"left changed: {changed}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        item.passed = report.passed
    return report


def _forget_storages():
    """What was sent to other processes is known by weak references, which keep the head of a storage."""
    reductions = sys.modules.get("rushlight.multiprocessing.reductions")
    if reductions:
        reductions.shared_cache.free_dead_references()


@pytest.fixture(autouse=True)
def _nothing_left(request):
    """Compares the live counts before and after; collects only when they differ."""
    before = _C._live()
    yield
    if not getattr(request.node, "passed", False):
        return  # a failure's traceback keeps its tensors
    if request.node.get_closest_marker("allow_live") or _C._live() == before:
        return
    gc.collect()
    _forget_storages()
    after = _C._live()
    left = {kind: after[kind] - before[kind] for kind in before if after[kind] > before[kind]}
    assert not left, f"left alive: {left}"
