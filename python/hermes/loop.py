"""The agent's event loop, its stream to the host (Out), and what the host sends to a descriptor (Sink).

Data goes under credit both ways, so that nobody's slowness stops anybody else; the other way is in
source.py."""

from __future__ import annotations

import errno
import fcntl
import os
import select

from . import frames

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Union

    from .source import Source

_F_SETPIPE_SZ = 1031
_FIONREAD = 0x541B  # Linux; elsewhere nothing is spliced and nothing asks

_splice = getattr(os, "splice", None)  # Python 3.10, Linux


def set_nonblocking(fd: int) -> None:
    os.set_blocking(fd, False)


def widen(fd: int) -> None:
    """Gives a pipe 1 MiB: fewer wake-ups a megabyte. A refusal costs speed, nothing else. Only for
    pipes that fill up: what a user's pipes may hold all together is limited."""
    try:
        fcntl.fcntl(fd, _F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass


def readable_bytes(fd: int) -> int:
    """How many bytes lie in a pipe or socket; 0 if the system does not tell."""
    try:
        return int.from_bytes(fcntl.ioctl(fd, _FIONREAD, b"\0\0\0\0"), "little")
    except OSError:
        return 0


class Loop:
    """Waits for descriptors and for the next timer."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._masks = {}  # type: Dict[int, int]
        self._handlers = {}  # type: Dict[int, Callable[[int], object]]

    def want(self, fd: int, mask: int, handler: Callable[[int], object]) -> None:
        """Calls handler with the events of fd. Mask 0 stops waiting: poll would report a hang-up
        again and again otherwise."""
        if mask == self._masks.get(fd, 0):
            self._handlers[fd] = handler
            return
        if mask == 0:
            self.forget(fd)
            return
        self._poll.register(fd, mask)
        self._masks[fd] = mask
        self._handlers[fd] = handler

    def forget(self, fd: int) -> None:
        if self._masks.pop(fd, 0):
            self._poll.unregister(fd)
            del self._handlers[fd]

    def step(self, timeout: Optional[float]) -> None:
        """Waits at most timeout seconds (None: for ever) and handles what is ready."""
        for fd, events in self._poll.poll(None if timeout is None else timeout * 1000):
            handler = self._handlers.get(fd)
            if handler:  # an earlier handler of this round may have closed it
                handler(events)


class Stream:
    """What the frames of one stream number are for. It starts with nothing to do."""

    closed = False  # it has no more work

    def data(self, channel: int, data: bytes) -> None:
        pass

    def eof(self, channel: int) -> None:
        pass

    def credit(self, channel: int, n: int) -> None:
        pass

    def aside(self) -> None:
        """The host wants to move the content of a file by itself."""

    def back(self, at: int) -> None:
        """It goes on here, from there in the file."""

    def reset(self) -> None:
        """The host wants no more of it."""


class _Splice:
    """Bytes that the kernel moves from a pipe to the host without a copy."""

    def __init__(self, source: Source, size: int) -> None:
        self.source = source
        self.left = size


class Out:
    """The stream to the host. Frames are queued and never block the agent."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._fd = fd
        self._queue = []  # type: List[Union[memoryview, _Splice]]
        self.broken = False
        self.can_splice = _splice is not None
        set_nonblocking(fd)
        widen(fd)

    def send(self, kind: int, stream: int, payload: bytes = b"", channel: int = 0) -> None:
        self.say(frames.frame(kind, stream, payload, channel))

    def say(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._queue.append(memoryview(data))
        if len(self._queue) == 1:
            self.flush()

    def send_spliced(self, stream: int, channel: int, source: Source, size: int) -> None:
        header = frames.HEADER.pack(frames.DATA, channel, frames.MARK, stream, size)
        self._queue.append(memoryview(header))
        self._queue.append(_Splice(source, size))
        if len(self._queue) == 2:
            self.flush()

    def idle(self) -> bool:
        return not self._queue

    def flush(self, _events: int = 0) -> None:
        try:
            while self._queue and self._write_head():
                pass
        except OSError:  # the host is gone: its closed stdin says so too
            self.broken = True
            self._queue.clear()
        self._loop.want(self._fd, select.POLLOUT if self._queue else 0, self.flush)

    def _write_head(self) -> bool:
        """Writes what it can of the first item; False when the pipe is full."""
        item = self._queue[0]
        try:
            if isinstance(item, _Splice):
                return self._splice_head(item)
            n = os.write(self._fd, item)
        except BlockingIOError:
            return False
        if n == len(item):
            self._queue.pop(0)
        else:
            self._queue[0] = item[n:]
        return True

    def _splice_head(self, item: _Splice) -> bool:
        assert _splice is not None
        try:
            n = _splice(item.source.fd, self._fd, item.left)
        except BlockingIOError:
            if readable_bytes(item.source.fd) > 0:
                return False
            n = 0
        except OSError as e:
            if e.errno != errno.EINVAL:
                raise
            self.can_splice = False  # this pair of descriptors cannot: copy, now and from now on
            self._queue[0] = memoryview(os.read(item.source.fd, item.left).ljust(item.left, b"\0"))
            item.source.spliced()
            return True
        if n == 0:
            # Somebody else read the pipe, through /proc. The frame's length is out already, so the
            # rest of it is made up: such a run spoils its own output and nothing else.
            self._queue[0] = memoryview(bytes(item.left))
            item.source.spliced()
            return True
        item.left -= n
        if item.left == 0:
            self._queue.pop(0)
            item.source.spliced()
        return True


class Sink:
    """Writes what the host sends to a descriptor, and gives credit for what was written."""

    def __init__(
        self,
        loop: Loop,
        out: Out,
        fd: int,
        stream: int,
        channel: int = 0,
        finish: Optional[Callable[[], None]] = None,
    ) -> None:
        self.fd = fd
        self._loop, self._out = loop, out
        self._stream, self._channel = stream, channel
        self._queue = []  # type: List[memoryview]
        self._written = 0  # since credit was last given
        self._eof = False
        self._finish = finish  # how the end is passed on; None: close fd
        self.closed = False
        set_nonblocking(fd)

    def data(self, data: bytes) -> None:
        if self.closed:
            self._grant(len(data))  # the reader is gone: swallow, so that the host does not wait
            return
        self._queue.append(memoryview(data))
        self.flush()

    def eof(self) -> None:
        self._eof = True
        self.flush()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._loop.forget(self.fd)
        swallowed = sum(len(d) for d in self._queue)
        self._queue.clear()
        if self._finish:
            self._finish()
        else:
            os.close(self.fd)
        if swallowed:
            self._grant(swallowed)

    def flush(self, _events: int = 0) -> None:
        if self.closed:
            return
        try:
            while self._queue:
                n = os.write(self.fd, self._queue[0])
                self._grant(n)
                if n == len(self._queue[0]):
                    self._queue.pop(0)
                else:
                    self._queue[0] = self._queue[0][n:]
        except BlockingIOError:
            self._loop.want(self.fd, select.POLLOUT, self.flush)
            return
        except OSError:  # nobody reads any more
            self.close()
            return
        if self._eof:
            self.close()
        else:
            self._loop.want(self.fd, 0, self.flush)

    def _grant(self, n: int) -> None:
        self._written += n
        if self._written >= frames.WINDOW // 4:
            self._out.send(frames.CREDIT, self._stream, self._written.to_bytes(4, "big"), self._channel)
            self._written = 0
