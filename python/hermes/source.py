"""Source: a descriptor to the host, under the host's credit."""

from __future__ import annotations

import os
import select

from . import frames
from .loop import readable_bytes, set_nonblocking, widen

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Optional, Tuple

    from .loop import Loop, Out

_READ = 1 << 16
_DRAIN = 1 << 18
_SPLICE_AT_MOST = 1 << 18  # what a processor's cache holds is read twice as fast on the other side
_SPLICE_FROM = 1 << 15  # below this, copying is cheaper than a second system call


class Ring:
    """The last size bytes of what was added."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._data = bytearray()

    def add(self, data: memoryview) -> None:
        if len(data) >= self._size:
            self._data[:] = data[len(data) - self._size :]
            return
        self._data += data
        # Trimmed at twice the size, so that a byte is moved once, not at every add.
        if len(self._data) > 2 * self._size:
            del self._data[: len(self._data) - self._size]

    def bytes(self) -> bytes:
        return bytes(self._data[len(self._data) - self._size :]) if len(self._data) > self._size else bytes(self._data)


class Source:
    """Reads a descriptor and sends what it read as DATA, as far as the host gave credit.

    With keep (head, tail) it sends the first head bytes, then needs no credit: it drains, counts and
    remembers the last tail bytes, which it sends at the end.
    """

    def __init__(
        self,
        loop: Loop,
        out: Out,
        fd: int,
        stream: int,
        channel: int = 0,
        keep: Optional[Tuple[int, int]] = None,
        finished: Optional[Callable[[], None]] = None,
        ready: Optional[Callable[[], bool]] = None,
        moved: Optional[Callable[[], None]] = None,
    ) -> None:
        self.fd = fd
        self.total = 0  # bytes read
        self.omitted = 0  # of these, left out between head and tail; known at the end
        self.done = False  # ended, and everything sent
        self._loop, self._out = loop, out
        self._stream, self._channel = stream, channel
        self._credit = frames.WINDOW
        self._sent = 0
        self._head = keep[0] if keep else None  # bytes to send live; None: all
        self._ring = Ring(keep[1] if keep else 0)
        self._buffer = None  # type: Optional[bytearray]
        self._finished = finished
        self._ready = ready  # asked after a read whether it may be sent; None: always
        self._held = b""  # read, and not sent yet
        self._moved = moved  # called when a splice is complete
        self._left = None  # type: Optional[int]  # bytes to read before it counts as ended
        self._wide = False
        self._splicing = False
        self._ended = False
        self._emptied = False  # the last read got less than it asked for: asking again is two system calls for nothing
        self._pending = memoryview(b"")  # the kept tail, waiting for credit
        set_nonblocking(fd)
        self._rearm()

    def credit(self, n: int) -> None:
        self._credit += n
        self.pump()

    def end_after_this(self) -> None:
        """Its process has ended: what lies in the pipe now is the last of its output. Another
        process may still hold the pipe and write; that is read and thrown away."""
        if not self._ended:
            # Sockets are read until they are empty: how exactly they tell depends on the kernel.
            self._left = frames.WINDOW if self._ready else readable_bytes(self.fd)
            self.pump()

    def pump(self, _events: int = 0) -> bool:
        """Reads until nothing is there or credit is used up. True if nothing is left unread."""
        self._release()
        empty = self._ended
        while not self._ended and not self._splicing and self._room() > 0:
            if self._left == 0:
                self._end(at_eof=False)
                break
            n = self._read()
            if n is None:
                empty = True
                if self._left is not None:
                    self._end(at_eof=False)
                break
            if n == 0:
                self._end(at_eof=True)
            elif self._left is not None:
                self._left -= n
            elif self._emptied:
                empty = True
                break
        self._send_tail()
        self._rearm()
        return empty or self._ended

    def spliced(self) -> None:
        """The out queue has moved the bytes it was asked to."""
        self._splicing = False
        if self._left is not None:
            self.pump()
        self._rearm()
        if self._moved:
            self._moved()

    def close(self) -> None:
        """Stops without an end: the stream was reset."""
        if self.fd >= 0 and not self._splicing:
            self._loop.forget(self.fd)
            os.close(self.fd)
            self.fd = -1
        self._ended = self.done = True

    def _room(self) -> int:
        """How much may be read now, in bytes."""
        if self._held:
            return 0
        if self._head is None:
            return self._credit
        live = self._head - self._sent
        return min(self._credit, live) if live > 0 else _DRAIN

    def _rearm(self) -> None:
        if self.fd >= 0:
            want = not self._ended and not self._splicing and self._room() > 0
            self._loop.want(self.fd, select.POLLIN if want else 0, self.pump)

    def _read(self) -> Optional[int]:
        """Reads one piece, at most _left bytes; 0 at the end, None when nothing is there."""
        limit = self._room() if self._left is None else min(self._room(), self._left)
        self._emptied = False
        try:
            if self._head is not None and self._sent >= self._head:
                return self._drain(limit)
            if self._out.can_splice and not self._ready:
                n = min(readable_bytes(self.fd), limit, _SPLICE_AT_MOST)
                if n >= _SPLICE_FROM:
                    return self._splice(n)
            size = min(limit, _READ)
            data = os.read(self.fd, size)
            self._emptied = len(data) < size
        except BlockingIOError:
            return None
        except OSError:
            return 0  # a reset connection has ended too
        self._count(len(data))
        self._held = data
        self._release()
        return len(data)

    def _release(self) -> None:
        if not self._held or (self._ready and not self._ready()):
            return
        held, self._held = self._held, b""
        if held:  # asking may have led here already
            self._out.send(frames.DATA, self._stream, held, self._channel)

    def _splice(self, n: int) -> int:
        self._count(n)
        self._splicing = True
        self._out.send_spliced(self._stream, self._channel, self, n)
        return n

    def _count(self, n: int) -> None:
        self._read_some(n)
        self._sent += n
        self._credit -= n

    def _read_some(self, n: int) -> None:
        self.total += n
        if n >= _READ and not self._wide:
            self._wide = True
            widen(self.fd)

    def _drain(self, limit: int) -> int:
        if self._buffer is None:
            self._buffer = bytearray(_DRAIN)
        n = os.readv(self.fd, [memoryview(self._buffer)[:limit]])
        self._read_some(n)
        self._ring.add(memoryview(self._buffer)[:n])
        return n

    def _end(self, at_eof: bool) -> None:
        self._ended = True
        self._loop.forget(self.fd)
        if at_eof:
            os.close(self.fd)
        else:
            drain(self._loop, self.fd)
        self.fd = -1
        tail = self._ring.bytes()
        self.omitted = self.total - self._sent - len(tail)
        self._pending = memoryview(tail)

    def _send_tail(self) -> None:
        if not self._ended or self.done or self._held:
            return
        while self._pending and self._credit > 0:
            piece = self._pending[: min(self._credit, _READ)]
            self._credit -= len(piece)
            self._out.send(frames.DATA, self._stream, bytes(piece), self._channel)
            self._pending = self._pending[len(piece) :]
        if not self._pending:
            self.done = True
            if self._finished:
                self._finished()


def drain(loop: Loop, fd: int) -> None:
    """Reads fd to its end and forgets what it reads: a process that outlived the one whose output
    was wanted must neither block nor meet a closed pipe."""

    def read(_events: int) -> None:
        try:
            if os.read(fd, _READ):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        loop.forget(fd)
        os.close(fd)

    loop.want(fd, select.POLLIN, read)
