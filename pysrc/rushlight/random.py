"""The default stream of random numbers."""

from __future__ import annotations

import contextlib

from . import _missing
from ._C import default_generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Generator, Tensor

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


def manual_seed(seed: Any) -> Any:
    """Start the stream anew and return the default Generator."""
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the stream with a seed from the system and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the stream was started with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the stream: a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue from a state of get_rng_state()."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: Any = None,
) -> Generator:
    """Give back the state of the stream at the end of a block."""
    if device_type == "meta" or not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator() -> Any:
    """Return the Generator of a thread that loads data; None elsewhere, for the default one."""
    return None
