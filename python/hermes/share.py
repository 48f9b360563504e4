"""A directory of the guest that is mirrored to the host."""

from __future__ import annotations

import errno
import os
import select
import stat

from . import frames
from .loop import Loop, Out, Stream
from .scratch import make_dirs, remove_tree

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Set


class Share(Stream):
    """Carries what appears in in/ to the host. What the host sends to out/ comes as PUT.

    Whoever writes into in/ may write a byte to the FIFO in/.wake; the agent scans at intervals
    anyway, because a writer that dies between the two must not be forgotten.
    """

    def __init__(self, loop: Loop, out: Out, stream: int, path: bytes, found: Callable[[bytes, bytes], None]) -> None:
        self._loop, self._stream, self._out, self._found = loop, stream, out, found
        self._path = path
        self._wake = -1
        self._passed = set()  # type: Set[bytes]  # what is no regular file
        try:
            self._make()
        except OSError as e:
            self.closed = True
            out.send(frames.FAILED, stream, frames.failure("share", e.errno or errno.EIO))
            return
        out.send(frames.DONE, stream, frames.encode([("path", path)]))
        loop.want(self._wake, select.POLLIN, self._woken)

    def scan(self) -> None:
        """Offers every file that is there."""
        if self.closed:
            return
        folder = os.path.join(self._path, b"in")
        try:
            names = os.listdir(folder)
        except OSError:
            return
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith(b".") or name in self._passed:
                continue
            try:
                regular = stat.S_ISREG(os.lstat(path).st_mode)
            except OSError:
                continue
            if regular:
                self._found(name, path)
            else:
                self._passed.add(name)

    def placed(self) -> None:
        """A file has appeared in out/: wakes those who wait for one."""
        wake_readers(os.path.join(self._path, b"out"))

    def reset(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._loop.forget(self._wake)
        os.close(self._wake)
        remove_tree(self._path)

    def _make(self) -> None:
        make_dirs(os.path.dirname(self._path))
        os.mkdir(self._path, 0o700)
        for name in (b"in", b"out"):
            os.mkdir(os.path.join(self._path, name), 0o700)
        fifo = os.path.join(self._path, b"in", b".wake")
        os.mkfifo(fifo, 0o600)
        # Read and write: with a writer of our own it never reports a hang-up.
        self._wake = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)

    def _woken(self, _events: int) -> None:
        try:
            os.read(self._wake, 4096)
        except OSError:
            pass
        self.scan()


def wake_readers(folder: bytes) -> None:
    """Writes a byte to every FIFO .wake* of folder that somebody reads."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if not name.startswith(b".wake"):
            continue
        try:
            fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            continue  # nobody reads it
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                os.write(fd, b"\n")
        except OSError:
            pass
        finally:
            os.close(fd)
