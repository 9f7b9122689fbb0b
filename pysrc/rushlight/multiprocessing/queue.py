"""Queues that pickle with multiprocessing's own pickler, so that tensors in them share their memory."""

import io
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler


class ConnectionWrapper:
    """A connection whose send() and recv() go through that pickler."""

    def __init__(self, conn):
        self.conn = conn

    def send(self, obj):
        """Pickle an object and send it."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.send_bytes(buffer.getvalue())

    def recv(self):
        """Receive an object."""
        return pickle.loads(self.recv_bytes())

    def __getattr__(self, name):
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")


class Queue(multiprocessing.queues.Queue):
    """multiprocessing.Queue over such connections."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._reader, self._writer = ConnectionWrapper(self._reader), ConnectionWrapper(self._writer)
        self._send, self._recv = self._writer.send, self._reader.recv


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """multiprocessing.SimpleQueue over such connections."""

    def _make_methods(self):
        if not isinstance(self._reader, ConnectionWrapper):
            self._reader, self._writer = ConnectionWrapper(self._reader), ConnectionWrapper(self._writer)
        super()._make_methods()
