"""The worker processes of a DataLoader's iterator, as their parent sees them."""

import collections
import os
import select
import signal
import time
import warnings
from multiprocessing import util
from pickle import PicklingError

from . import worker
from .channel import Channel


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
            process = context.Process(target=worker._worker_loop, args=(socket, *args), daemon=True)
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
        process.join(worker.MP_STATUS_CHECK_INTERVAL)
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
        end = time.monotonic() + worker.MP_STATUS_CHECK_INTERVAL
        for process in started:
            process.join(max(0, end - time.monotonic()))
        for stop in ("terminate", "kill"):
            for process in started:
                if process.is_alive():
                    getattr(process, stop)()
                    process.join(worker.MP_STATUS_CHECK_INTERVAL)


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
