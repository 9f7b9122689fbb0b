"""The iterator of a DataLoader whose batches worker processes load."""

import functools
import itertools
import multiprocessing
import weakref

from rushlight import _homes
from rushlight._utils import ExceptionWrapper

from .crew import Crew
from .iterator import _BaseDataLoaderIter
from .worker import _IterableDatasetStopIteration, _ResumeIteration


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps ``prefetch_factor`` tasks out for each worker, and gives their batches in the order of the tasks.

    A task is a number and indices. Tasks go to the workers in turns. A worker whose copy of an
    IterableDataset has come to its end gets no more of them; what it had got but not answered is void.
    """

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0 for MultiProcessingDataLoaderIter")
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        from ..dataloader import _DatasetKind

        make_fetcher = functools.partial(
            *(_DatasetKind.create_fetcher, self._dataset_kind, self._dataset),
            *(self._auto_collation, self._collate_fn, self._drop_last),
        )
        context = loader.multiprocessing_context or multiprocessing.get_context()
        args = make_fetcher, self._dataset, self._base_seed, loader.worker_init_fn
        self._crew = Crew()
        # at the end of the program multiprocessing ends the processes itself
        weakref.finalize(self, self._crew.close).atexit = False
        self._crew.start(context, self._num_workers, args)
        self._reset(loader, first_iter=True)

    @property
    def _workers(self):
        return self._crew.processes

    @property
    def _shutdown(self):
        return self._crew.closed

    def _shutdown_workers(self):
        self._crew.close()

    def _reset(self, loader, first_iter=False):
        try:
            self._begin(loader, first_iter)
        except BaseException:  # what is still on the way must not pass for batches of the next epoch
            self._shutdown_workers()
            raise

    def _begin(self, loader, first_iter):
        super()._reset(loader, first_iter)
        self._number = 0  # of the next task
        self._tasks = {}  # worker by number, of the tasks whose batches were not given yet
        self._kept = {}  # batches by number, that came before their turn
        self._active = [True] * self._num_workers
        self._load = [0] * self._num_workers  # tasks that a worker has, or whose batches were not given yet
        self._turns = itertools.cycle(range(self._num_workers))
        if not first_iter:
            self._resume()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._hand_out()

    def _resume(self):
        """Let the workers begin anew; batches of the last time that are still on the way are dropped."""
        for worker in range(self._num_workers):
            self._crew.put(worker, (_ResumeIteration(), None))
        waiting = self._num_workers
        while waiting:
            number, _ = self._crew.get(self._timeout)
            waiting -= isinstance(number, _ResumeIteration)

    def _hand_out(self):
        """Send the next indices, if there are any, to the worker whose turn it is."""
        try:
            indices = self._next_index()
        except StopIteration:
            return
        worker = self._choose()
        if worker is not None:
            self._crew.put(worker, (self._number, indices))
            self._tasks[self._number] = worker
            self._load[worker] += 1
            self._number += 1

    def _choose(self):
        share = self._prefetch_factor * self._num_workers // max(sum(self._active), 1)
        for worker in itertools.islice(self._turns, self._num_workers):
            if self._active[worker] and (self._in_order or self._load[worker] < share):
                return worker
        return None

    def _first(self):
        """Return the number of the next batch, None at the end."""
        while self._tasks:
            number, worker = next(iter(self._tasks.items()))
            if self._active[worker] or number in self._kept:
                return number
            del self._tasks[number]  # void
        return None

    def _next_data(self):
        try:
            return self._next_of_workers()
        except Exception:
            raise
        except BaseException:  # an interrupt: what it cut off is lost, and would be waited for
            if not self._crew.idle:
                self._shutdown_workers()
            raise

    def _next_of_workers(self):
        while (first := self._first()) is not None:
            if first in self._kept:
                return self._give(first, self._kept.pop(first))
            if self._shutdown:
                raise AssertionError(
                    "Invalid iterator state: shutdown or no outstanding tasks when fetching next data"
                )
            number, data = self._crew.get(self._timeout)
            if isinstance(data, _IterableDatasetStopIteration):
                self._retire(data.worker_id)
            elif self._in_order and number != first:
                self._kept[number] = data
            else:
                return self._give(number, data)
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _retire(self, worker):
        """Note that a worker's copy of the dataset has come to its end."""
        self._active[worker] = False
        if not self._persistent_workers:
            self._crew.dismiss(worker)
        self._hand_out()

    def _give(self, number, data):
        self._load[self._tasks.pop(number)] -= 1
        self._hand_out()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data


_homes.adopt("rushlight.utils.data.dataloader", _MultiProcessingDataLoaderIter)
