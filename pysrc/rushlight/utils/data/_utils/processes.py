"""The iterator of a DataLoader whose batches worker processes load."""

import collections
import functools
import itertools
import multiprocessing
import os
import select
import signal
import time
import warnings
import weakref
from multiprocessing import util
from pickle import PicklingError

from rushlight._utils import ExceptionWrapper
from rushlight.utils.data.dataloader import _BaseDataLoaderIter

from . import worker as _worker
from .channel import Channel
from .worker import _IterableDatasetStopIteration, _ResumeIteration


# ---- the worker processes of a DataLoader's iterator, as their parent sees them ----
class Crew:
    """Processes that are sent tasks and send messages; one that ends by itself is an error."""

    def __init__(self):
        self.pid = os.getpid()
        self.processes = []
        self.channels = []
        self.closed = False
        self.idle = False  # in get(), with nothing half done
        self._arrived = collections.deque()
        self._poll = select.poll()
        self._watched = {}  # number of a worker by the descriptors of its channel and its sentinel

    def start(self, context, count, args):
        """Start the processes, all or none."""
        try:
            for number in range(count):
                self._start(context, (*args, number, count))
        except BaseException:
            self.close()
            raise

    def _start(self, context, args):
        channel, socket = Channel.pair()
        with socket:
            util.register_after_fork(channel, Channel.leave)  # a child that has it would keep it from ending
            process = context.Process(target=_worker._worker_loop, args=(socket, *args), daemon=True)
            self.channels.append(channel)
            self.processes.append(process)
            try:
                process.start()
            except (TypeError, AttributeError, PicklingError):
                _warn_of_pickling()
                raise
        for descriptor in (channel.fileno(), process.sentinel):
            self._watched[descriptor] = len(self.processes) - 1
            self._poll.register(descriptor, select.POLLIN)

    def put(self, number, message):
        """Send a worker a message, now or while ``get`` waits; nobody hears it when all have ended."""
        if self.closed:
            return
        channel = self.channels[number]
        channel.put(message)
        self._flush(channel)

    def _flush(self, channel):
        try:
            rest = select.POLLIN if channel.flush() else select.POLLIN | select.POLLOUT
        except ConnectionError:
            return  # the worker has ended: get() says so
        self._poll.modify(channel, rest)

    def get(self, seconds):
        """Return the next message of any worker; RuntimeError when one has ended, or if seconds have passed.

        No seconds: wait for ever.
        """
        end = time.monotonic() + seconds
        while not self._arrived:
            self.idle = True
            events = self._poll.poll(max(0, end - time.monotonic()) * 1000 if seconds else None)
            self.idle = False
            if not events and seconds:
                raise RuntimeError(f"DataLoader timed out after {seconds} seconds")
            for descriptor, event in events:
                self._attend(self._watched[descriptor], descriptor, event)
        return self._arrived.popleft()

    def _attend(self, number, descriptor, event):
        channel = self.channels[number]
        if descriptor != channel.fileno():
            self._lose(number)
        if event & select.POLLOUT:
            self._flush(channel)
        if event & ~select.POLLOUT:
            try:
                self._arrived += channel.take()
            except EOFError:
                self._lose(number)
            except BaseException:  # a message is lost, and whoever waits for it would wait for ever
                self.close()
                raise

    def _lose(self, number):
        process = self.processes[number]
        process.join(_worker.MP_STATUS_CHECK_INTERVAL)
        ended = {each for each in self._watched.values() if not self.processes[each].is_alive()}
        pids = [str(self.processes[each].pid) for each in sorted(ended | {number})]
        self.close()
        text = f"DataLoader worker (pid(s) {', '.join(pids)}) exited unexpectedly"
        raise RuntimeError(text) from RuntimeError(_death(process))

    def dismiss(self, number):
        """Let a worker end, alone."""
        for descriptor in (self.channels[number].fileno(), self.processes[number].sentinel):
            self._poll.unregister(descriptor)
            del self._watched[descriptor]
        self.channels[number].close()

    def close(self):
        """Let all workers end: those that do not within some seconds are killed."""
        if self.closed or os.getpid() != self.pid:  # a forked child is not their parent
            return
        self.closed = True
        started = [process for process in self.processes if process.pid]
        try:
            self._end(started)
        except BaseException:  # whoever interrupts the waiting wants no more of it
            for process in started:
                process.kill()
                process.join()
            for channel in self.channels:
                channel.close()
            raise

    def _end(self, started):
        for channel in self.channels:
            channel.close()
        end = time.monotonic() + _worker.MP_STATUS_CHECK_INTERVAL
        for process in started:
            process.join(max(0, end - time.monotonic()))
        for stop in ("terminate", "kill"):
            for process in started:
                if process.is_alive():
                    getattr(process, stop)()
                    process.join(_worker.MP_STATUS_CHECK_INTERVAL)


def _death(process):
    code = process.exitcode
    if code is None or code >= 0:
        return (
            f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. "
            "Details are lost due to multiprocessing. "
            "Rerunning with num_workers=0 may give better error trace."
        )
    text = f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
    if -code == signal.SIGBUS:
        text += (
            "It is possible that dataloader's workers are out of shared memory. "
            "Please try to raise your shared memory limit."
        )
    return text


def _warn_of_pickling():
    warnings.warn(
        "Got pickle error when attempting to start a worker Process. "
        "This might be because the worker Process arguments are not picklable. "
        "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms "
        "to 'forkserver', which requires the worker Process arguments to be picklable. "
        "You can also try multiprocessing.set_start_method('fork').",
        stacklevel=7,
    )


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps ``prefetch_factor`` tasks out for each worker, and gives their batches in the order of the tasks.

    A task is a number and indices. Tasks go to the workers in turns. A worker whose copy of an
    IterableDataset has come to its end gets no more of them; what it had got but not answered is void.
    """

    __module__ = "rushlight.utils.data.dataloader"

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
