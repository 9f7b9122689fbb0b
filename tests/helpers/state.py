"""What a process keeps between calls: a test leaves all of it as it was."""

import gc
import locale
import os
import signal
import sys

import numpy as np

import rushlight as torch
from rushlight.nn.modules import module

_ASKED = [
    getattr(torch, name)
    for name in (
        *("get_default_dtype", "get_default_device", "get_num_threads", "get_float32_matmul_precision"),
        *("get_deterministic_debug_mode", "is_grad_enabled", "is_inference_mode_enabled"),
        *("is_anomaly_enabled", "is_anomaly_check_nan_enabled", "is_warn_always_enabled"),
        "is_autocast_cache_enabled",
    )
]
_ASKED += [sys.getrecursionlimit, sys.getswitchinterval, gc.isenabled, gc.get_threshold, np.geterr, os.getcwd]
# What modules keep that a test may be the first to import, and how it is at first.
_LATER = {
    ("rushlight._tensor_str", "get_printoptions"): dict(
        precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None
    ),
    ("rushlight.backends.mha", "get_fastpath_enabled"): True,
    ("rushlight.multiprocessing", "get_sharing_strategy"): "file_descriptor",
    ("rushlight.nn.utils.parametrize", "_cache_enabled"): 0,
    ("rushlight.serialization", "_checksums"): True,
    ("rushlight.serialization", "get_safe_globals"): [],
    ("rushlight.utils.checkpoint", "_debug"): None,
    ("rushlight.utils.checkpoint", "_early_stop"): None,
}
_ELSEWHERE = ("PYTEST_CURRENT_TEST", "TORCHINDUCTOR_")  # what pytest and real PyTorch set as they go
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)
_HOOKS = [name for name, hooks in vars(module).items() if "_hooks" in name and isinstance(hooks, dict)]


def _handler(number):
    """What answers a signal; PyTorch's loaders set a handler of SIGCHLD for good."""
    handler = signal.getsignal(number)
    return signal.SIG_DFL if getattr(handler, "__module__", "").startswith("torch.") else handler


def _of_module(name, attribute, first):
    found = getattr(sys.modules.get(name), attribute, first)
    return found() if callable(found) else found


def process_state():
    """{what: its value}, to be compared with what it is later."""
    state = {ask.__name__: ask() for ask in _ASKED}
    state |= {key: _of_module(*key, first) for key, first in _LATER.items()}
    state |= {name: len(getattr(module, name)) for name in _HOOKS}
    state["autocast"] = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    state["signals"] = [_handler(number) for number in _SIGNALS]
    state["sys"] = [*sys.path], sys.modules.get("torch"), sys.excepthook, sys.displayhook
    state["locale"] = locale.setlocale(locale.LC_ALL)
    state |= {f"${name}": value for name, value in os.environ.items() if not name.startswith(_ELSEWHERE)}
    return state


def changes(before, after):
    """{what: (before, after)} of two states."""
    return {
        what: (before.get(what), after.get(what))
        for what in before | after
        if before.get(what) != after.get(what)
    }
