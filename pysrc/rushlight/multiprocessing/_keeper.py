"""Descriptors on their way: kept until their receivers take them, by a thread of the sender or by a process.

The thread serves the strategy "file_descriptor": what ``multiprocessing.reduction.DupFd`` does with a new
connection and its passwords for each descriptor goes here over connections that stay, to sockets without a
path, and whoever connects must be of the same user.

The process serves the strategy "file_system": what was sent arrives even when its sender has ended. It ends
when nobody is connected to it any more and nothing is on its way, or nobody has come for a minute, and what
it holds goes with it. This file is its program, too: it imports nothing but Python's own modules.
"""

import array
import contextlib
import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

_PUT, _GET, _DROP, _TAKE = b"P", b"G", b"D", b"T"
_KNOWN, _UNKNOWN = b"+", b"-"
_SPACE = socket.CMSG_SPACE(array.array("i").itemsize)  # for one descriptor
_LONGEST = 256  # bytes of a request
_PATIENCE = 60  # seconds that what is on its way is kept when nobody is connected


def raise_limit():
    """Allow this process as many descriptors as it may allow itself."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _send(sock, data, fd=None):
    ancillary = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    sock.sendmsg([data], ancillary)


def _receive(sock):
    """One message, and the descriptor that came with it or None."""
    data, ancillary, _, _ = sock.recvmsg(_LONGEST, _SPACE, socket.MSG_CMSG_CLOEXEC)
    for level, kind, payload in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            return data, struct.unpack("i", payload[:4])[0]
    return data, None


# ---- the keeper ----
class _Keeper:
    def __init__(self, listener):
        self.listener = listener
        self.kept = {}  # key: [descriptor, how often it is on its way]
        self.lock = threading.Lock()
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.started = False  # somebody has been here

    def run(self):
        """Serve until nobody is there, or comes for a while, to take or to bring anything."""
        while True:
            clients = len(self.selector.get_map()) - 1
            if not clients and not self.kept and self.started:
                return
            events = self.selector.select(None if clients else _PATIENCE)
            if not events:
                return
            self._serve_all(events)

    def serve_for_ever(self):
        """Serve in a thread of a process."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        while True:
            self._serve_all(self.selector.select())

    def _serve_all(self, events):
        for key, _ in events:
            if key.fileobj is self.listener:
                self._accept()
            elif not self._serve(key.fileobj):
                self.selector.unregister(key.fileobj)
                key.fileobj.close()

    def _accept(self):
        try:
            client, _ = self.listener.accept()
            peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:  # too many descriptors: later
            time.sleep(0.01)
            return
        if struct.unpack("3i", peer)[1] in (os.getuid(), 0):
            self.selector.register(client, selectors.EVENT_READ)
            self.started = True
        else:
            client.close()

    def _serve(self, client):
        try:
            data, fd = _receive(client)
            if not data:
                return False
            if data[:1] == _PUT and fd is not None:
                self.put_steal(data[1:], fd)
            self._answer(client, data[:1], data[1:])
        except OSError:
            return False
        return True

    def _answer(self, client, wish, key):
        with self.lock:
            entry = self.kept.get(key)
            if entry is None:
                _send(client, _UNKNOWN)
                return
            _send(client, _KNOWN, entry[0] if wish in (_GET, _TAKE) else None)
            if wish in (_DROP, _TAKE):
                entry[1] -= 1
                if not entry[1]:
                    os.close(self.kept.pop(key)[0])

    def put_steal(self, key, fd):
        """Keep a descriptor once more under its key; it is closed when the file is here already."""
        with self.lock:
            entry = self.kept.setdefault(key, [fd, 0])
            entry[1] += 1
        if entry[0] != fd:
            os.close(fd)

    def close(self):
        """Close everything, in the child of a fork, without telling those whom the parent's thread serves."""
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()
        for fd, _ in self.kept.values():
            os.close(fd)


def main(fd):
    """Keep descriptors for whoever connects to the listening socket fd."""
    if os.fork():
        os._exit(0)  # the parent waits for this one; nobody for the keeper
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for those who send
    raise_limit()
    _Keeper(socket.socket(fileno=fd)).run()


def _new_address():
    return b"\0rushlight-" + secrets.token_hex(16).encode()


def _listening(address):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(128)
    return listener


# ---- those who send and receive ----
def name_of(fd):
    """What the file of a descriptor is kept under: equal for all of one file."""
    status = os.fstat(fd)
    return f"/rushlight_{status.st_ino}_{status.st_dev}".encode()


class _Client:
    """This process's connections to keepers."""

    def __init__(self):
        self.own = None  # the address of the keeper for what this process sends; its children use it, too
        self._after_fork()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        self.lock, self.sockets = threading.Lock(), {}  # the parent's connections close with their objects

    def address(self):
        """Return the address of the keeper, which is started once."""
        with self.lock:
            if self.own is None:
                address = _new_address()
                self._start(address)
                self.own = address
            return self.own

    def _start(self, address):
        with _listening(address) as listener:
            self.sockets[address] = self._connect(address)
            name = address[1:].decode()  # for ps: what to kill
            command = [sys.executable, "-I", "-S", __file__, str(listener.fileno()), name]
            silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            subprocess.run(command, pass_fds=[listener.fileno()], check=True, **silent)

    def _connect(self, address):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            sock.connect(address)
        except OSError:
            sock.close()
            raise
        return sock

    def ask(self, address, wish, key, fd=None):
        """Send one wish; return whether the keeper knows the key, and the descriptor that it sent or None."""
        with self.lock:
            if address not in self.sockets:
                self.sockets[address] = self._connect(address)
            try:
                _send(self.sockets[address], wish + key, fd)
                answer, got = _receive(self.sockets[address])
                if not answer:
                    raise ConnectionResetError("whoever kept the shared memory has ended")
            except BaseException:  # an answer that is not waited for must not be the next one's
                self.sockets.pop(address).close()
                raise
            return answer == _KNOWN, got


class _Here:
    """The thread of this process that keeps what it sends itself."""

    def __init__(self):
        self.lock, self.address, self.keeper = threading.Lock(), None, None
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        if self.keeper:
            self.keeper.close()
        self.lock, self.address, self.keeper = threading.Lock(), None, None

    def keep(self, key, fd):
        """Keep the file that fd stands for until somebody takes it; return the address."""
        with self.lock:
            if self.keeper is None:
                self.address = _new_address()
                self.keeper = _Keeper(_listening(self.address))
                serve = self.keeper.serve_for_ever
                threading.Thread(target=serve, daemon=True, name="rushlight-keeper").start()
        self.keeper.put_steal(key, os.dup(fd))
        return self.address


_client = _Client()
_here = _Here()


def address():
    """Return the address of the keeper for what this process sends."""
    return _client.address()


def put(address, key, fd):
    """Have the file that fd stands for kept, once more, until somebody drops it."""
    _client.ask(address, _PUT, key, fd)


def get(address, key):
    """Return a new descriptor of the file."""
    return _wanted(*_client.ask(address, _GET, key))


def take(address, key):
    """Return a new descriptor of the file, and have it kept once less."""
    return _wanted(*_client.ask(address, _TAKE, key))


def _wanted(known, fd):
    if not known or fd is None:
        raise RuntimeError("No such file or directory")
    return fd


def drop(address, key):
    """Have it kept once less."""
    _client.ask(address, _DROP, key)


class Sent:
    """A descriptor on its way from this process; used as multiprocessing.reduction.DupFd."""

    def __init__(self, fd):
        self.key = name_of(fd)
        self.address = _here.keep(self.key, fd)

    def detach(self):
        """Return the descriptor, in the process that received this; once."""
        return take(self.address, self.key)


if __name__ == "__main__":
    main(int(sys.argv[1]))
