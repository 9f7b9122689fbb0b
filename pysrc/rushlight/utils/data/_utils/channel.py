"""How a DataLoader and its workers talk: objects through a socket, the memory of tensors beside them.

A message is a pickle. The storages in it are moved into shared memory, and their descriptors travel with the
first bytes of the message (SCM_RIGHTS): there is one transfer for a batch, and the other side maps what this
one wrote. A long pickle lies in such memory itself, so that no socket is ever filled by one.
"""

import collections
import contextlib
import copyreg
import errno
import io
import mmap
import os
import pickle
import select
import socket
import struct
import threading
from multiprocessing.reduction import ForkingPickler

from rushlight import _C
from rushlight.multiprocessing import reductions

_HEAD = struct.Struct("<QII")  # bytes of the pickle, descriptors, whether the first of them has the pickle
_INLINE = 1 << 15  # bytes of a pickle that goes through the socket
_MOST = 253  # descriptors that the system takes at once

_TOO_MANY = (
    "Too many open files. Communication with the workers is no longer possible. "
    "Please increase the limit using `ulimit -n` in the shell"
)

_arriving = threading.local()  # .message: storages and descriptors of what this thread unpickles


class _Collector:
    """The storages of one message: what goes beside its pickle, in which stand their numbers."""

    def __init__(self):
        self.storages = []
        self.descriptors = []
        self.numbers = {}

    def pickle(self, obj):
        """Return the bytes of an object, pickled as all of multiprocessing does but for storages."""
        file = io.BytesIO()
        pickler = ForkingPickler(file, pickle.HIGHEST_PROTOCOL)
        own = {_C.Tensor: self._reduce_tensor, _C.UntypedStorage: self._reduce_storage}
        pickler.dispatch_table = {**copyreg.dispatch_table, **ForkingPickler._extra_reducers, **own}
        pickler.dump(obj)
        return file.getvalue()

    def _number(self, storage):
        key = storage._cdata
        if key not in self.numbers:
            self.numbers[key] = len(self.descriptors)
            shared = reductions._shareable(storage)
            self.descriptors.append(shared._share_fd_cpu_()[0])
            self.storages += storage, shared
        return self.numbers[key]

    def _reduce_storage(self, storage):
        if storage.device.type != "cpu" or not storage.nbytes():
            return reductions.reduce_storage(storage)
        return _arrived_storage, (self._number(storage), storage.nbytes())

    def _reduce_tensor(self, tensor):
        storage = tensor.untyped_storage()
        if tensor.requires_grad or not tensor.is_cpu or not storage.nbytes():
            return reductions.reduce_tensor(tensor)
        place = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
        return _arrived_tensor, (self._number(storage), storage.nbytes(), tensor.dtype, *place)


def _arrived_storage(number, nbytes):
    known, descriptors = _arriving.message
    if number not in known:
        known[number] = _C.UntypedStorage._new_shared_fd_cpu(descriptors[number], nbytes)
    return known[number]


def _arrived_tensor(number, nbytes, dtype, offset, size, stride):
    return _C._set_memory(_C.empty(0, dtype=dtype), _arrived_storage(number, nbytes), offset, size, stride)


class _File:
    """A file in memory with some bytes, open as long as this lives."""

    def __init__(self, data):
        self.descriptor = os.memfd_create("rushlight", os.MFD_CLOEXEC)
        with open(self.descriptor, "wb", closefd=False) as file:
            file.write(data)

    def __del__(self):
        os.close(self.descriptor)


class _Piece:
    """Bytes that leave together with descriptors, and what must live until they have."""

    def __init__(self, data, descriptors, keep):
        self.data = data
        self.descriptors = descriptors
        self.keep = keep


def _pieces(obj):
    """Return the message of an object: one piece, or several where it has very many descriptors."""
    collector = _Collector()
    data, descriptors, keep = collector.pickle(obj), collector.descriptors, [collector.storages]
    long = len(data) > _INLINE
    if long:
        keep.append(_File(data))
        descriptors.insert(0, keep[-1].descriptor)
    more = len(descriptors) // _MOST  # pieces of a byte each in front of the last
    head = _HEAD.pack(len(data), len(descriptors), long)
    body = memoryview(b"".join((head, bytes(more), b"" if long else data)))
    for i in range(more):
        yield _Piece(body[i : i + 1], descriptors[i * _MOST : (i + 1) * _MOST], keep)
    yield _Piece(body[more:], descriptors[more * _MOST :], keep)


def _load(descriptors, data):
    """Return the object of a message; without data its pickle lies in the first file."""
    before = getattr(_arriving, "message", None)  # unpickling runs anybody's code
    try:
        if data is not None:
            _arriving.message = {}, descriptors
            return pickle.loads(data)
        _arriving.message = {}, descriptors[1:]
        with mmap.mmap(descriptors[0], 0) as file:
            return pickle.loads(file)
    except Exception as error:
        if descriptors and _is_last(descriptors[0]):
            raise RuntimeError(_TOO_MANY) from error
        raise
    finally:
        _arriving.message = before
        for descriptor in descriptors:
            os.close(descriptor)


def _is_last(descriptor):
    """Whether this process may open no more files."""
    try:
        os.close(os.dup(descriptor))
    except OSError as error:
        return error.errno == errno.EMFILE
    return False


class Channel:
    """One end of a pair of sockets; nothing that it does waits but ``wait``."""

    def __init__(self, sock):
        sock.setblocking(False)
        self.socket = sock
        self._leaving = collections.deque()
        self._arrived = bytearray()
        self._descriptors = []
        self._ended = False

    @staticmethod
    def pair():
        """Return a channel, and the socket that the other process makes its own channel of."""
        ours, theirs = socket.socketpair()
        return Channel(ours), theirs

    def fileno(self):
        """Return the socket's descriptor."""
        return self.socket.fileno()

    def close(self):
        """End the talk, whoever else has the socket: the other end reads what has left, then EOFError."""
        with contextlib.suppress(OSError):  # it has ended already
            self.socket.shutdown(socket.SHUT_RDWR)
        self.leave()

    def leave(self):
        """Close the socket in this process; the talk goes on where others have it."""
        self.socket.close()
        self._leaving.clear()
        while self._descriptors:
            os.close(self._descriptors.pop())

    def put(self, obj):
        """Pickle an object; it leaves by ``flush``."""
        self._leaving += list(_pieces(obj))  # all of it or, where it cannot be pickled, nothing

    def flush(self):
        """Send what the socket takes now; whether that was all."""
        while self._leaving:
            piece = self._leaving[0]
            try:
                if piece.descriptors:
                    sent = socket.send_fds(self.socket, [piece.data], piece.descriptors)
                else:
                    sent = self.socket.send(piece.data)
            except BlockingIOError:
                return False
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:  # the other side has many to take first
                    raise
                return False
            piece.data, piece.descriptors = piece.data[sent:], []
            if not piece.data:
                self._leaving.popleft()
        return True

    def wait(self, seconds):
        """Wait until something arrives or can leave; False when nothing did."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN | (select.POLLOUT if self._leaving else 0))
        return bool(poll.poll(seconds * 1000))

    def take(self):
        """Return a list of the objects that have arrived; EOFError when no more can come."""
        self._read()
        objects = []
        while (obj := self._next()) is not None:
            objects.append(obj)
        if self._ended and not objects:
            raise EOFError
        return objects

    def _read(self):
        while not self._ended:
            try:
                data, files, flags, _ = socket.recv_fds(self.socket, 1 << 16, _MOST, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data, files, flags = b"", [], 0
            self._descriptors += files
            if flags & socket.MSG_CTRUNC:
                raise RuntimeError(_TOO_MANY)
            self._arrived += data
            self._ended = not data

    def _next(self):
        """Return the object of the next message, which is never None; None when not all of it is here."""
        if len(self._arrived) < _HEAD.size:
            return None
        count, files, long = _HEAD.unpack_from(self._arrived)
        start = _HEAD.size + files // _MOST
        end = start + (0 if long else count)
        if len(self._arrived) < end or len(self._descriptors) < files:
            return None
        data = None if long else bytes(self._arrived[start:end])
        descriptors, self._descriptors = self._descriptors[:files], self._descriptors[files:]
        del self._arrived[:end]
        return _load(descriptors, data)
