"""The strategy "file_system": a process of its own keeps descriptors until their receivers take them.

So what was sent arrives even when its sender has ended. The keeper holds files in memory that have no name;
it ends when nobody is connected to it any more and nothing is on its way, or nobody has come for a minute,
and what it holds goes with it. This file is its program, too: it imports nothing but Python's own modules.
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
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.clients = 0

    def run(self):
        """Serve until nobody needs it."""
        while True:
            events = self.selector.select(None if self.clients else _PATIENCE)
            if not events:
                return
            for key, _ in events:
                if key.fileobj is self.listener:
                    self._accept()
                elif not self._serve(key.fileobj):
                    self._leave(key.fileobj)
            if not self.clients and not self.kept:
                return

    def _accept(self):
        client, _ = self.listener.accept()
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", peer)[1] != os.getuid():
            client.close()
            return
        self.selector.register(client, selectors.EVENT_READ)
        self.clients += 1

    def _leave(self, client):
        self.selector.unregister(client)
        client.close()
        self.clients -= 1

    def _serve(self, client):
        try:
            data, fd = _receive(client)
            return bool(data) and self._answer(client, data[:1], data[1:], fd)
        except OSError:
            return False

    def _answer(self, client, wish, key, fd):
        if wish == _PUT and fd is not None:
            self._put(key, fd)
        entry = self.kept.get(key)
        if entry is None:
            _send(client, _UNKNOWN)
            return True
        _send(client, _KNOWN, entry[0] if wish in (_GET, _TAKE) else None)
        if wish in (_DROP, _TAKE):
            entry[1] -= 1
            if not entry[1]:
                os.close(self.kept.pop(key)[0])
        return True

    def _put(self, key, fd):
        if key in self.kept:
            os.close(fd)
        else:
            self.kept[key] = [fd, 0]
        self.kept[key][1] += 1


def main(fd):
    """Keep descriptors for whoever connects to the listening socket fd."""
    if os.fork():
        os._exit(0)  # the parent waits for this one; nobody for the keeper
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for those who send
    raise_limit()
    _Keeper(socket.socket(fileno=fd)).run()


# ---- those who send and receive ----
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
                self.own = b"\0rushlight-" + secrets.token_hex(16).encode()
                self._start(self.own)
            return self.own

    def _start(self, address):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(address)
            listener.listen(128)
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
            raise RuntimeError("No such file or directory") from None
        return sock

    def ask(self, address, wish, key, fd=None):
        """Send one wish; return whether the keeper knows the key, and the descriptor that it sent or None."""
        with self.lock:
            if address not in self.sockets:
                self.sockets[address] = self._connect(address)
            try:
                _send(self.sockets[address], wish + key, fd)
                answer, got = _receive(self.sockets[address])
            except OSError:
                answer, got = b"", None
            if not answer:
                self.sockets.pop(address).close()
                raise RuntimeError("the process that keeps shared memory has ended")
            return answer == _KNOWN, got


_client = _Client()


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


if __name__ == "__main__":
    main(int(sys.argv[1]))
