"""What runs in a worker process."""

from dataclasses import dataclass
from typing import Any

from rushlight import _missing

__getattr__ = _missing.lacks(__name__)

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between looks at whether the other side lives

_worker_info = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows of itself; its ``dataset`` is the process's own copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


def get_worker_info():
    """Return the WorkerInfo of this worker process; None in any other process.

    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.get_worker_info>`__
    """
    return _worker_info
