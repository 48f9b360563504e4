"""Whole files from and to the host: PUT and GET."""

from __future__ import annotations

import errno
import os
import stat

from . import frames
from .loop import Out, Stream
from .scratch import make_dirs

TYPE_CHECKING = False  # typing costs 10 ms at start
if TYPE_CHECKING:
    from typing import Callable, Optional

_PIECE = 1 << 16


class Put(Stream):
    """Receives a file under a temporary name and puts it in place at its end. A mode that is a directory's
    makes one."""

    def __init__(
        self, out: Out, stream: int, path: bytes, mode: int, placed: Optional[Callable[[], None]] = None
    ) -> None:
        self._out, self._stream, self._mode, self._placed = out, stream, mode, placed
        self._fd = -1
        self._written = 0
        self._temp = b""
        self._folder = stat.S_ISDIR(mode)
        try:
            if self._folder:
                _make_folder(path)
            else:
                self._open(path)
        except OSError as e:
            self._fail(e)

    def data(self, channel: int, data: bytes) -> None:
        if self._fd < 0:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as e:
            self._fail(e)
            return
        self._written += len(data)
        if self._written >= frames.WINDOW // 4:
            self._out.send(frames.CREDIT, self._stream, self._written.to_bytes(4, "big"))
            self._written = 0

    def eof(self, channel: int) -> None:
        if self._fd < 0 and not self._folder or self.closed:
            return
        try:
            if not self._folder:
                self._place()
        except OSError as e:
            self._fail(e)
            return
        self.closed = True
        self._out.send(frames.DONE, self._stream)
        if self._placed:
            self._placed()

    def _place(self) -> None:
        os.fchmod(self._fd, self._mode)
        fd, self._fd = self._fd, -1
        os.close(fd)
        os.replace(self._temp, self._path)

    def aside(self) -> None:
        if self._fd >= 0:
            self._out.send(frames.ASIDE, self._stream, frames.encode([("path", self._temp)]))

    def back(self, at: int) -> None:
        if self._fd < 0:
            return
        try:
            os.lseek(self._fd, at, os.SEEK_SET)
        except (OSError, OverflowError):
            self._fail(OSError(errno.EINVAL, "no such place in a file"))

    def reset(self) -> None:
        self.closed = True
        self._discard()

    def _open(self, path: bytes) -> None:
        # A symlink stays one: what it names is replaced.
        self._path = os.path.realpath(path)
        folder, name = os.path.split(self._path)
        make_dirs(folder)
        old = _stat(self._path)
        if old and not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(old.st_mode) else errno.EINVAL, "not a regular file")
        if old and not os.access(self._path, os.W_OK):
            raise OSError(errno.EACCES, "not writable")
        # Given at the end: until then somebody else may have to write to it, in our name.
        self._mode = self._mode or (old.st_mode & 0o777 if old else 0o600)  # whoever changes a file does not get its rights
        self._temp = os.path.join(folder, b"." + name[:200] + b"." + os.urandom(6).hex().encode())
        self._fd = os.open(self._temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if old and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            try:
                os.fchown(self._fd, old.st_uid, old.st_gid)
            except OSError:
                pass  # only root may give files away; the content is what was asked for

    def _fail(self, e: OSError) -> None:
        self.closed = True
        self._discard()
        self._out.send(frames.FAILED, self._stream, frames.failure("put", e.errno or errno.EIO))

    def _discard(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._temp:
            try:
                os.unlink(self._temp)
            except OSError:
                pass


def _make_folder(path: bytes) -> None:
    make_dirs(path)
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise OSError(errno.ENOTDIR, "not a directory")


class Get(Stream):
    """Sends a regular file, as far as there is credit."""

    def __init__(self, out: Out, stream: int, path: bytes, kind: int = frames.DONE, fields: bytes = b"") -> None:
        self._out, self._stream = out, stream
        self._credit = frames.WINDOW
        self._path = path
        self._aside = False
        self._fd = -1
        try:
            self._fd = open_regular(path)
        except OSError as e:
            self.closed = True
            out.send(frames.FAILED, stream, frames.failure("get", e.errno or errno.EIO))
            return
        out.send(kind, stream, fields or frames.encode([("size", os.fstat(self._fd).st_size)]))
        self._pump()

    def credit(self, channel: int, n: int) -> None:
        self._credit += n
        self._pump()

    def aside(self) -> None:
        """Stops, and tells where the file lies: nowhere, if that is another one by now."""
        if self.closed:
            return
        self._aside = True
        path, info = b"", os.fstat(self._fd)
        try:
            real = os.path.realpath(self._path)
            if os.path.samestat(os.stat(real), info):
                path = real
        except (OSError, ValueError):
            pass
        fields = frames.encode([("path", path), ("size", info.st_size), ("mtime", int(info.st_mtime))])
        self._out.send(frames.ASIDE, self._stream, fields)

    def back(self, at: int) -> None:
        if self.closed:
            return
        self._aside = False
        try:
            os.lseek(self._fd, at, os.SEEK_SET)
        except (OSError, OverflowError):
            self._out.send(frames.FAILED, self._stream, frames.failure("get", errno.EINVAL))
            self._close()
        self._pump()

    def reset(self) -> None:
        self._close()

    def _pump(self) -> None:
        while self._credit > 0 and not self.closed and not self._aside:
            try:
                data = os.read(self._fd, min(self._credit, _PIECE))
            except OSError as e:
                self._out.send(frames.FAILED, self._stream, frames.failure("get", e.errno or errno.EIO))
                self._close()
                return
            if not data:
                self._out.send(frames.EOF, self._stream)
                self._close()
                return
            self._credit -= len(data)
            self._out.send(frames.DATA, self._stream, data)

    def _close(self) -> None:
        self.closed = True
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_regular(path: bytes, flags: int = 0) -> int:
    """Opens a file for reading, never a FIFO, a device or a directory: those may block or never end,
    and to open one alone wakes its writer or rewinds a tape."""
    _check(os.stat(path).st_mode)
    # It may be another one by now, which must not block at least.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | flags)
    try:
        _check(os.fstat(fd).st_mode)
    except OSError:
        os.close(fd)
        raise
    return fd


def _check(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a directory")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _stat(path: bytes) -> Optional[os.stat_result]:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
