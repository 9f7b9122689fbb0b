"""The streams of random numbers of GPUs: one default generator for each."""

from __future__ import annotations

import rushlight
from rushlight import _C, _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushlight._C import Generator, Tensor

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


def _generator(device: int | str | rushlight.device = "cuda") -> Generator:
    if isinstance(device, int):
        device = rushlight.device("cuda", device)
    index = rushlight.device(device).index
    if index is None:
        index = rushlight.cuda.current_device() if rushlight.cuda.is_initialized() else 0
    return _C._make_generators(rushlight.cuda.device_count())[index]


def get_rng_state(device: int | str | rushlight.device = "cuda") -> Tensor:
    """Return the state of a GPU's stream of random numbers: its seed and offset, 16 bytes.

    Parameters
    ----------
    device : device or int, default 'cuda'
        The GPU; the current one.

    Returns
    -------
    Tensor
        The state, uint8, on the CPU.

    Notes
    -----
    Same as torch.cuda.get_rng_state:
    https://docs.pytorch.org/docs/2.13/generated/torch.cuda.random.get_rng_state.html
    """
    rushlight.cuda.init()
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all GPUs' streams."""
    return [get_rng_state(i) for i in range(rushlight.cuda.device_count())]


def set_rng_state(new_state: Tensor, device: int | str | rushlight.device = "cuda") -> None:
    """Set the state of a GPU's stream of random numbers; without a GPU, do nothing.

    Parameters
    ----------
    new_state : Tensor
        What get_rng_state() returned.
    device : device or int, default 'cuda'
        The GPU; the current one.

    Notes
    -----
    Same as torch.cuda.set_rng_state:
    https://docs.pytorch.org/docs/2.13/generated/torch.cuda.random.set_rng_state.html
    """
    if rushlight.cuda.is_available():
        _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all GPUs' streams."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def manual_seed(seed: int) -> None:
    """Set the seed of the current GPU's stream; without a GPU, do nothing.

    Parameters
    ----------
    seed : int
        Seed.

    Notes
    -----
    Same as torch.cuda.manual_seed:
    https://docs.pytorch.org/docs/2.13/generated/torch.cuda.random.manual_seed.html
    """
    seed = int(seed)
    if rushlight.cuda.is_available():
        _generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Set the seed of all GPUs' streams, also of those that are not in use yet.

    Parameters
    ----------
    seed : int
        Seed.

    Notes
    -----
    Same as torch.cuda.manual_seed_all:
    https://docs.pytorch.org/docs/2.13/generated/torch.cuda.random.manual_seed_all.html
    """
    _C._seed_devices(int(seed))


def seed() -> None:
    """Set the seed of the current GPU's stream to one from the system."""
    if rushlight.cuda.is_available():
        _generator().seed()


def seed_all() -> None:
    """Set the seeds of all GPUs' streams to one from the system."""
    from rushlight._generator import new_seed

    _C._seed_devices(new_seed())


def initial_seed() -> int:
    """Return the seed of the current GPU's stream."""
    rushlight.cuda.init()
    return _generator().initial_seed()
