"""Listeners in the guest whose connections are carried to the host."""

from __future__ import annotations

import _socket
import errno
import os
import select

from . import frames
from .loop import Loop, Out, Sink, Stream
from .source import Source

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Optional

_SUN_PATH = 100  # bytes; the limit is 104 on macOS and 108 on Linux


class Listener(Stream):
    """A socket that accepts for the host. Accept gives each connection a stream of the guest's."""

    def __init__(
        self, loop: Loop, out: Out, stream: int, network: str, address: bytes, accepted: Callable[[int], int]
    ) -> None:
        self._loop, self._out, self._stream, self._accepted = loop, out, stream, accepted
        self._path = b""
        self._sock = None  # type: Optional[_socket.socket]
        self._spare = -1  # a descriptor for when there are no others
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
            shown = self._bind(network, address)
            self._prove()
        except OSError as e:
            self._fail(e)
            return
        out.send(frames.DONE, stream, frames.encode([("address", shown)]))
        assert self._sock is not None
        loop.want(self._sock.fileno(), select.POLLIN, self._accept)

    def reset(self) -> None:
        self.closed = True
        if self._sock is not None:
            self._loop.forget(self._sock.fileno())
            self._sock.close()
            self._sock = None
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        if self._path:
            try:
                os.unlink(self._path)
            except OSError:
                pass

    def _bind(self, network: str, address: bytes) -> bytes:
        if network == "unix":
            if len(address) > _SUN_PATH:
                raise OSError(errno.ENAMETOOLONG, "socket path too long")
            self._sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
            mask = os.umask(0o177)
            try:
                self._sock.bind(address)
            finally:
                os.umask(mask)
            self._path = address
            shown = address
        elif network == "tcp":
            host, _, port = (address or b"127.0.0.1:0").decode().rpartition(":")
            self._sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0)
            self._sock.bind((host, int(port)))
            shown = ("%s:%d" % self._sock.getsockname()).encode()
        else:
            raise OSError(errno.EAFNOSUPPORT, "no such network")
        self._sock.listen(128)
        self._sock.setblocking(False)
        return shown

    def _prove(self) -> None:
        """Dials itself: a socket that was bound need not be one that can be reached."""
        assert self._sock is not None
        probe = _socket.socket(self._sock.family, _socket.SOCK_STREAM, 0)
        try:
            probe.settimeout(5)
            probe.connect(self._sock.getsockname())
            self._sock.setblocking(True)
            fd, _ = self._sock._accept()  # type: ignore[attr-defined]
            os.close(fd)
        finally:
            probe.close()
            self._sock.setblocking(False)

    def _accept(self, _events: int) -> None:
        while self._sock is not None:
            try:
                fd, _ = self._sock._accept()  # type: ignore[attr-defined]
            except BlockingIOError:
                return
            except OSError as e:
                if e.errno == errno.ECONNABORTED:
                    continue
                if e.errno in (errno.EMFILE, errno.ENFILE):
                    self._refuse()
                else:
                    self.reset()
                return
            try:
                self._accepted(fd)
            except OSError:  # it needs more than one descriptor
                os.close(fd)

    def _refuse(self) -> None:
        """Hangs up on one caller: unanswered, he would wake the loop again and again."""
        if self._spare < 0 or self._sock is None:
            return
        os.close(self._spare)
        self._spare = -1
        try:
            fd, _ = self._sock._accept()  # type: ignore[attr-defined]
            os.close(fd)
        except OSError:
            pass
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            pass  # somebody was faster

    def _fail(self, e: OSError) -> None:
        self.reset()
        self._out.send(frames.FAILED, self._stream, frames.failure("listen", e.errno or errno.EIO))


class Connection(Stream):
    """One accepted connection: a Source and a Sink on two descriptors of the same socket."""

    def __init__(self, loop: Loop, out: Out, stream: int, listener: int, fd: int) -> None:
        self._stream, self._out = stream, out
        twin = os.dup(fd)
        try:
            write = os.dup(fd)
        except OSError:
            os.close(twin)
            raise
        self._sock = _socket.socket(fileno=twin)
        out.send(frames.ACCEPT, stream, frames.encode([("listener", listener)]))
        self._sink = Sink(loop, out, write, stream, finish=self._shutdown)
        self._source = Source(loop, out, fd, stream, finished=self._peer_ended)

    def data(self, channel: int, data: bytes) -> None:
        self._sink.data(data)

    def eof(self, channel: int) -> None:
        self._sink.eof()

    def credit(self, channel: int, n: int) -> None:
        self._source.credit(n)

    def reset(self) -> None:
        """The host has closed: what it sent before is still delivered."""
        self._source.close()
        self._sink.eof()
        self._end_if_both()

    def _shutdown(self) -> None:
        try:
            self._sock.shutdown(_socket.SHUT_WR)
        except OSError:
            pass
        os.close(self._sink.fd)
        self._end_if_both()

    def _peer_ended(self) -> None:
        self._out.send(frames.EOF, self._stream)
        self._end_if_both()

    def _end_if_both(self) -> None:
        if self._sink.closed and self._source.done:
            self.closed = True
            self._sock.close()
