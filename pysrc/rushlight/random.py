"""The default stream of random numbers."""

from __future__ import annotations

import contextlib

from . import _missing
from ._C import _seed_devices, default_generator

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
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def manual_seed(seed: int) -> Generator:
    """Set the seed of random numbers of all devices: their streams begin anew, and are PyTorch's.

    Parameters
    ----------
    seed : int
        Seed, in [-2**63, 2**64).

    Returns
    -------
    Generator
        The default generator.

    Raises
    ------
    ValueError
        If the seed is out of bounds.

    Notes
    -----
    Same as torch.manual_seed: https://docs.pytorch.org/docs/2.13/generated/torch.manual_seed.html

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    _seed_devices(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Set the seed of random numbers to one from the system.

    Returns
    -------
    int
        The seed.

    Notes
    -----
    Same as torch.seed: https://docs.pytorch.org/docs/2.13/generated/torch.seed.html

    Examples
    --------
    >>> torch.seed() == torch.initial_seed()
    True
    """
    value = default_generator.seed()
    _seed_devices(value)
    return value


def initial_seed() -> int:
    """Return the seed of random numbers that was set last.

    Returns
    -------
    int
        The seed.

    Notes
    -----
    Same as torch.initial_seed: https://docs.pytorch.org/docs/2.13/generated/torch.initial_seed.html

    Examples
    --------
    >>> _ = torch.manual_seed(42)
    >>> torch.initial_seed()
    42
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the stream of random numbers, for set_rng_state().

    Returns
    -------
    Tensor
        The state, uint8.

    Notes
    -----
    Same as torch.get_rng_state: https://docs.pytorch.org/docs/2.13/generated/torch.get_rng_state.html

    Examples
    --------
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the stream of random numbers.

    Parameters
    ----------
    new_state : Tensor
        What get_rng_state() returned.

    Notes
    -----
    Same as torch.set_rng_state: https://docs.pytorch.org/docs/2.13/generated/torch.set_rng_state.html

    Examples
    --------
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: Any = None,
) -> Generator:
    """Fork the streams of random numbers: after this context they go on as if nothing had been drawn within.

    Parameters
    ----------
    devices : iterable of devices, optional
        GPUs whose streams are forked beside that of the CPU; all of them by default.
    enabled : bool, default True
        False does nothing.
    device_type : str, optional
        Accepted; 'meta' does nothing.

    Notes
    -----
    Same as torch.random.fork_rng: https://docs.pytorch.org/docs/2.13/random.html#torch.random.fork_rng

    Examples
    --------
    >>> with torch.random.fork_rng():
    ...     first = torch.rand(2)
    >>> torch.equal(first, torch.rand(2))
    True
    """
    if device_type == "meta" or not enabled:
        yield
        return
    from . import cuda

    devices = range(cuda.device_count()) if devices is None else list(devices)
    state, states = get_rng_state(), [cuda.get_rng_state(device) for device in devices]
    try:
        yield
    finally:
        set_rng_state(state)
        for device, own in zip(devices, states, strict=True):
            cuda.set_rng_state(own, device)


def thread_safe_generator() -> Any:
    """Return the generator of a thread that loads data; None elsewhere, which stands for the default one.

    Returns
    -------
    Generator or None
        The generator.

    Examples
    --------
    >>> torch.random.thread_safe_generator() is None
    True
    """
    return None
