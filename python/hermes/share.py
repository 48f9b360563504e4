"""A directory of the guest that is mirrored to the host."""

from __future__ import annotations

import errno
import os
import select
import stat
import time

from . import frames
from .loop import Loop, Out, Stream
from .scratch import make_dirs, remove_tree

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Set


_LARGEST = 256 << 20  # bytes; the host takes no more
_ROLL_CALL = 0.25  # seconds between two looks at who still waits


class Share(Stream):
    """Carries what appears in in/ to the host. What the host sends to out/ comes as PUT.

    Whoever writes into in/ may write a byte to the FIFO in/.wake; the agent scans at intervals
    anyway, because a writer that dies between the two must not be forgotten. Whoever waits for a
    file in out/ may read a FIFO out/.wake_NAME. Once that has no reader any more, the agent removes
    it and tells the host by an empty file in/end_NAME: a mirror cannot be asked who reads.

    Without found the host moves the files of both by itself, and the agent does the rest.
    """

    def __init__(
        self, loop: Loop, out: Out, stream: int, path: bytes, found: Optional[Callable[[bytes, bytes], None]]
    ) -> None:
        self._loop, self._stream, self._out, self._found = loop, stream, out, found
        self._path = path
        self._wake = -1
        self._passed = set()  # type: Set[bytes]  # what is no regular file, or too long
        self._missed = set()  # type: Set[bytes]  # FIFOs that had no reader at the last look
        self._placed = set()  # type: Set[bytes]  # what lay in out/ at the last look, where the host puts it
        self._looked = 0.0
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
        if self._found:
            folder = os.path.join(self._path, b"in")
            for name in _visible(folder):
                if name not in self._passed:
                    self._offer(self._found, name, os.path.join(folder, name))
        else:
            names = set(_visible(os.path.join(self._path, b"out")))
            if names - self._placed:
                self.placed()
            self._placed = names
        if time.monotonic() - self._looked >= _ROLL_CALL:
            self._looked = time.monotonic()
            self._call_roll()

    def _offer(self, found: Callable[[bytes, bytes], None], name: bytes, path: bytes) -> None:
        try:
            info = os.lstat(path)
        except OSError:
            return
        if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
            self._passed.add(name)
            return
        try:
            found(name, path)
        except FileNotFoundError:
            pass  # its writer has taken it back
        except OSError:
            self._passed.add(name)

    def _call_roll(self) -> None:
        """Tells of readers that are gone: twice without one, for a FIFO is made before it is read."""
        folder = os.path.join(self._path, b"out")
        missing = {name for name in bells(folder) if not ring(os.path.join(folder, name), b"")}
        for name in missing & self._missed:
            try:
                os.unlink(os.path.join(folder, name))
                end = os.path.join(self._path, b"in", b"end_" + name[len(_BELL) :])
                os.close(os.open(end, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except OSError:
                pass
        self._missed = missing

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


def _visible(folder: bytes) -> List[bytes]:
    """The files that are complete."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(b".")]
    except OSError:
        return []


_BELL = b".wake_"


def wake_readers(folder: bytes) -> None:
    for name in bells(folder):
        ring(os.path.join(folder, name), b"\n")


def bells(folder: bytes) -> List[bytes]:
    """The FIFOs by which those who wait want to be woken."""
    try:
        return [name for name in os.listdir(folder) if name.startswith(_BELL)]
    except OSError:
        return []


def ring(path: bytes, data: bytes) -> bool:
    """Writes data to a FIFO. False if nobody reads it; what is no FIFO is left alone."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as e:
        return e.errno != errno.ENXIO
    try:
        if data and stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, data)
    except OSError:
        pass  # full: it has been rung before
    finally:
        os.close(fd)
    return True
