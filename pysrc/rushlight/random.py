"""The default stream of random numbers."""

from . import _missing
from ._C import default_generator

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
__getattr__ = _missing.lacks(__name__)


def manual_seed(seed):
    """Start the stream anew and return the default Generator."""
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return default_generator.manual_seed(seed)


def seed():
    """Start the stream with a seed from the system and return it."""
    return default_generator.seed()


def initial_seed():
    """Return the seed that the stream was started with."""
    return default_generator.initial_seed()


def get_rng_state():
    """Return the state of the stream: a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue from a state of get_rng_state()."""
    default_generator.set_state(new_state)


class fork_rng:
    """Give back the state of the stream at the end of a block."""

    def __init__(
        self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"
    ):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            self.state = get_rng_state()

    def __exit__(self, exc_type, exc_value, traceback):
        if self.enabled:
            set_rng_state(self.state)

    def __call__(self, function):
        def wrapper(*args, **kwargs):
            with type(self)(enabled=self.enabled):
                return function(*args, **kwargs)

        wrapper.__wrapped__ = function
        return wrapper
