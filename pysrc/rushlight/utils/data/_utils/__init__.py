"""What a DataLoader is made of: fetching, collating, pinning, worker processes."""

from rushlight._utils import ExceptionWrapper

from . import collate, fetch, pin_memory, worker

__all__ = ["ExceptionWrapper", "MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "worker"]

MP_STATUS_CHECK_INTERVAL = worker.MP_STATUS_CHECK_INTERVAL
