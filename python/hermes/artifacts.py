"""Sends the files that a script has left in a directory, as a tar archive on stdout, and removes them.

Arguments: the directory, and how many files and bytes there may be at most. An entry of the type TORN
says of the file before it that it could not be read to its end, and why. If anything is left out the
archive ends with an entry of the type REPORT: JSON that says what and why. Names are sent as UTF-8; a byte
that is none comes as %XX.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys

from .figures import LOG
from .scratch import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tarfile import TarFile
    from typing import Any, BinaryIO, Dict, Iterator, List, Tuple

REPORT, TORN = b"R", b"T"  # typeReport and typeTorn on the host
_SHOWN = 10  # names in a report, of a kind
_LONGEST = 500  # characters of a name or a reason there
_MOST = 1 << 20  # bytes of what is read of LOG
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a directory"),
    (lambda mode: True, "a device"),
)


class Whole:
    """Reads from a file what its archive was told that it has, and something else where it has that no more."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.torn = ""  # why it is not whole

    def read(self, n: int) -> bytes:
        data = b""
        try:
            data = self._file.read(n)
        except OSError as e:
            self.torn = why(e)
        if len(data) < n:
            self.torn = self.torn or "it became shorter while it was read"
        return data.ljust(n, b"\0")


class Report:
    """What did not come."""

    def __init__(self) -> None:
        self.root = ""  # what is wrong with the directory itself
        self.over = []  # type: List[Tuple[str, int]] # names and sizes of files that there was no room for
        self.unread = []  # type: List[Tuple[str, str]] # names, and why
        self.odd = []  # type: List[Tuple[str, str]] # names of what is no regular file, and what it is
        self.failed = []  # type: List[Tuple[str, str]] # figures that could not be saved, and why
        self.other = ""  # the backend that figures have which are open in a kernel, if it is not ours
        self.open = False  # figures were, in a process that ended without saving them

    def fields(self) -> Dict[str, Any]:
        """For JSON; empty if all has come."""
        fields = {}  # type: Dict[str, Any]
        if self.root:
            fields["root"] = self.root
        if self.over:
            fields["bytes_over"] = sum(size for _, size in self.over)
        if self.open:
            fields["open"] = True
        if self.other:
            fields["other"] = clip(self.other)
        over = [(name, count(size)) for name, size in self.over]
        for name, found in (("over", over), ("unread", self.unread), ("odd", self.odd), ("failed", self.failed)):
            if found:
                fields[name] = {"count": len(found), "first": [(clip(n), clip(what)) for n, what in found[:_SHOWN]]}
        return fields


def main() -> int:
    import json
    import tarfile

    root, most, room = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    report = Report()
    sent = set()
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path, name in files(root, report):
            info = tarfile.TarInfo(sendable(name))
            if info.name in sent:
                report.unread.append((name, "another one has this name in UTF-8"))
                continue
            try:
                file = regular(path)
            except OSError as e:
                report.unread.append((name, why(e)))
                continue
            with file:
                info.size = os.fstat(file.fileno()).st_size
                if most <= 0 or info.size > room:
                    report.over.append((name, info.size))
                    continue
                most, room = most - 1, room - info.size
                sent.add(info.name)
                whole = Whole(file)
                archive.addfile(info, whole)  # type: ignore[arg-type]
                if whole.torn:
                    entry(archive, TORN, whole.torn)
        figures(os.path.join(os.path.dirname(root), LOG), report)
        fields = report.fields()
        if fields:
            entry(archive, REPORT, json.dumps(fields))
    remove_tree(os.fsencode(root))
    return 0


def entry(archive: TarFile, kind: bytes, text: str) -> None:
    """Sends what is no file."""
    import io
    import tarfile

    data = text.encode()
    info = tarfile.TarInfo("-")
    info.type, info.size = kind, len(data)
    archive.addfile(info, io.BytesIO(data))


def files(root: str, report: Report) -> Iterator[Tuple[str, str]]:
    """The regular files below a directory, in order, with their names there. Links are not followed."""
    rest = [(root, "")]  # and not a call for each level: there may be more of them than Python has room for
    while rest:
        path, name = rest.pop()
        try:
            mode = os.stat(path, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                for entry in sorted(os.listdir(path), key=order, reverse=True):
                    rest.append((os.path.join(path, entry), name + "/" + entry if name else entry))
            elif not name:
                report.root = "is no directory any more but " + kind(mode)
            elif not stat.S_ISREG(mode):
                report.odd.append((name, kind(mode)))
            else:
                yield path, name
        except OSError as e:
            if name:
                report.unread.append((name, why(e)))
            else:
                report.root = "is gone" if isinstance(e, FileNotFoundError) else "cannot be read: " + why(e)


def regular(path: str) -> BinaryIO:
    """Opens a regular file. A script that runs on may put something else there at any time, and reading
    from that may wait, or say nothing at all."""
    fd = os.open(path, _OPEN)
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it has become " + kind(mode))
    return open(fd, "rb")


def figures(path: str, report: Report) -> None:
    """Takes what python/alone/hermes_figures.py and figures.py have left word of. The script may have written there too."""
    import json

    lines = []  # type: List[bytes]
    try:
        with regular(path) as file:
            lines = file.read(_MOST).splitlines()
    except OSError:
        pass
    try:
        os.unlink(path)
    except OSError:
        pass
    still = set()
    for line in lines:
        try:
            for what, value in json.loads(line).items():
                if what == "failed":
                    name, reason = value
                    report.failed.append((str(name), str(reason)))
                elif what == "open":
                    still.add(value)
                elif what == "done":
                    still.discard(value)
                elif what == "other":
                    report.other = str(value)
        except (AttributeError, RecursionError, TypeError, ValueError):
            continue
    report.open = bool(still)


def kind(mode: int) -> str:
    """What has a mode like this, for a person."""
    if stat.S_ISREG(mode):
        return "a file"
    return next(name for test, name in _KINDS if test(mode))


def order(name: str) -> List[Any]:
    """Sorts names, and the numbers in them as numbers: figure-2 before figure-10."""
    parts = re.split("([0-9]+)", name)  # type: List[Any]
    parts[1::2] = [(int(digits), digits) for digits in parts[1::2]]
    return parts


def sendable(name: str) -> str:
    """A name as text. What is none in it stands in it as %XX."""
    return "".join("%%%02X" % (ord(c) & 0xFF) if "\ud800" <= c <= "\udfff" else c for c in name)


def count(size: int) -> str:
    """A number of bytes, for a person."""
    return "1 byte" if size == 1 else "%d bytes" % size


def clip(text: str) -> str:
    return sendable(text if len(text) <= _LONGEST else text[:_LONGEST] + "\u2026")


def why(e: OSError) -> str:
    text = e.strerror or str(e)
    return text[:1].lower() + text[1:]


if __name__ == "__main__":
    sys.exit(main())
