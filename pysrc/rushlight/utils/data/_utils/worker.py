"""What runs in a worker process."""

import os
import random
import time
from dataclasses import dataclass
from typing import Any

from rushlight import _C, _missing
from rushlight._utils import ExceptionWrapper

__getattr__ = _missing.module_getattr(__name__)

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds between looks at whether the parent lives

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
    """Return what a worker process of a `DataLoader` knows about itself; None in any other process.

    Returns
    -------
    WorkerInfo or None
        Has ``id``, ``num_workers``, ``seed`` and ``dataset``, the worker's copy.

    Notes
    -----
    Same as torch.utils.data.get_worker_info:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.get_worker_info

    Examples
    --------
    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """In place of a batch: the worker's copy of the dataset has no more."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """In place of a batch's indices: begin anew; and the answer to it."""

    seed: int | None = None


def _seed_all(base_seed, worker_id):
    """Seed torch, random and NumPy for a worker; return torch's seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    _C.default_generator.manual_seed(seed)
    try:
        import numpy
    except ImportError:
        return seed
    # other numbers than random's, which is made in the same way from its seed
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))
    return seed


class _Worker:
    """Answers each (number, indices) with (number, batch), until the other end of the channel is closed."""

    def __init__(self, channel, info, make_fetcher):
        self.channel = channel
        self.info = info
        self.make_fetcher = make_fetcher
        self.parent = os.getppid()
        self.fetcher = None
        self.failed = None  # what stands in for all batches, if the dataset could not be begun
        self.ended = False

    def begin(self, prepare=None):
        """Make the fetcher anew, for the first time after ``prepare`` was called with the worker's number."""
        self.ended = False
        try:
            if prepare is not None:
                prepare(self.info.id)
            self.fetcher = self.make_fetcher()
            self.failed = None
        except Exception:
            self.failed = self.wrapped()

    def wrapped(self):
        """Return the exception that is being handled, for the parent to raise."""
        return ExceptionWrapper(where=f"in DataLoader worker process {self.info.id}")

    def run(self):
        """Work until the parent closes its end, or is gone."""
        while True:
            for number, indices in self.tasks():
                if isinstance(number, _ResumeIteration):
                    self.begin()
                    self.send((number, None))
                elif not self.ended:
                    self.send((number, self.batch(indices)))

    def tasks(self):
        """Wait for tasks."""
        while not (tasks := self.channel.take()):
            self.wait()
        return tasks

    def wait(self):
        if not self.channel.wait(MP_STATUS_CHECK_INTERVAL) and os.getppid() != self.parent:
            raise EOFError

    def batch(self, indices):
        """Return the batch, or what stands in for it."""
        if self.failed is not None:
            return self.failed
        try:
            return self.fetcher.fetch(indices)
        except StopIteration:
            if not self.fetcher.ends_with_stop:
                return self.wrapped()
            self.ended = True
            return _IterableDatasetStopIteration(self.info.id)
        except Exception:
            return self.wrapped()

    def send(self, message):
        """Send a message whole; what cannot be pickled is replaced by an exception that says so."""
        try:
            self.channel.put(message)
        except Exception:
            self.channel.put((message[0], self.unsent(message[1])))
        while not self.channel.flush():
            self.wait()
            time.sleep(0.001)  # there may be room, while the system wants descriptors to be taken first

    def unsent(self, data):
        if not isinstance(data, ExceptionWrapper):
            return self.wrapped()
        data.exc_type = RuntimeError  # the class is what cannot be found elsewhere; its text stays
        return data


def _worker_loop(socket, make_fetcher, dataset, base_seed, init_fn, worker_id, num_workers):
    """The life of a worker process."""
    global _worker_info
    from .channel import Channel

    try:
        _C._set_thread_name("pt_data_worker")
        _C.set_num_threads(1)
        seed = _seed_all(base_seed, worker_id)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, dataset)
        worker = _Worker(Channel(socket), _worker_info, make_fetcher)
        worker.begin(init_fn)
        worker.run()
    except (KeyboardInterrupt, EOFError, ConnectionError):
        pass  # the parent is told of the interrupt itself, or wants no more
