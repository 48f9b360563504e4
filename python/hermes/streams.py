"""What a cell finds at the descriptors 0, 1 and 2, and as sys.stdin, sys.stdout and sys.stderr.

A cell may close them or put something else in their place. The descriptors are the kernel's: every
cell begins with those that the kernel was started with, blocking as they were. The objects in sys are
state, as any name is: what a cell has set stays, unless it was closed, so that nobody can use it.
"""

from __future__ import annotations

import fcntl
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

_HIGH = (500, 100, 10)  # out of the way of code that closes "all" descriptors
_NAMES = ("stdin", "stdout", "stderr")


def high_copy(fd: int) -> int:
    """A copy of fd that no program which is started inherits."""
    for lowest in _HIGH[:-1]:
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:  # beyond the limit of open files
            continue
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH[-1])


def _mark(fd: int) -> Tuple[int, ...]:
    """What fd is open to, and how; () if it is closed."""
    try:
        file = os.fstat(fd)
        return file.st_dev, file.st_ino, fcntl.fcntl(fd, fcntl.F_GETFL)
    except OSError:
        return ()


class Streams:
    """The kernel's own, as it found them when it started."""

    def __init__(self) -> None:
        self._copies = [high_copy(fd) for fd in range(3)]
        self._marks = [_mark(fd) for fd in range(3)]
        self._objects = [_Object(fd) for fd in range(3)]

    def restore(self) -> None:
        """Before every cell. An OSError says that the copies are gone too."""
        for fd, mark in enumerate(self._marks):
            if _mark(fd) != mark:
                self._put_back(fd, mark)
        for stream in self._objects:
            stream.restore()

    def close(self) -> None:
        """In a forked child, which may want to let go of all that it has inherited."""
        for fd in self._copies:
            try:
                os.close(fd)
            except OSError:
                pass

    def _put_back(self, fd: int, mark: Tuple[int, ...]) -> None:
        os.dup2(self._copies[fd], fd)
        fcntl.fcntl(fd, fcntl.F_SETFL, mark[-1])  # also a child can have set it to non-blocking
        if _mark(fd) != mark:
            raise OSError("descriptor %d is lost" % fd)


class _Object:
    """One of the objects in sys, and how another of its kind is made."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._name = _NAMES[fd]
        first = getattr(sys, self._name)
        self._encoding, self._errors = first.encoding, first.errors
        self._line_buffering, self._write_through = first.line_buffering, first.write_through

    def restore(self) -> None:
        if not _closed(self._name):
            return
        original = "__%s__" % self._name
        if _closed(original):
            setattr(sys, original, self._open())
        setattr(sys, self._name, getattr(sys, original))

    def _open(self) -> io.TextIOWrapper:
        mode = "w" if self._fd else "r"
        binary = open(self._fd, mode + "b", 0 if self._fd and self._write_through else -1, closefd=False)  # type: Any
        getattr(binary, "raw", binary).name = "<%s>" % self._name  # as in the interpreter's own
        text = io.TextIOWrapper(
            binary, self._encoding, self._errors, "\n", self._line_buffering, self._write_through
        )
        text.mode = mode  # type: ignore[misc]
        return text


def _closed(name: str) -> bool:
    """Tells whether nobody can use an object in sys. None can be used: print says nothing then."""
    try:
        stream = getattr(sys, name)
    except AttributeError:  # deleted
        return True
    try:
        return stream.closed is True
    except ValueError:  # detached
        return isinstance(stream, io.IOBase)
    except BaseException:  # it is no file, and writes all the same
        return False
